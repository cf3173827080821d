/// Where branches meet: one packet with the fields of all of them.
///
///     number 7 ──► fork ──┬──► b: as it was ────────────────────┐
///                         └──► add: 8 ──► fork ──┬──► d: as add │
///                                                └──► e: 9 ─────┴──► join: 9
///
/// Several inputs may have a field, some as it was where they parted from another, which changed it
/// since. The changed value counts, whichever input came first; that no two change the same field
/// was checked before the run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "pipeline/graph/message.hpp"

namespace seam::host {

/// Waits until every input has sent its message of a sequence number. A gap on any input makes a
/// gap.
class Join {
 public:
  explicit Join(std::size_t inputs) : inputs_(inputs) {}
  /// One thread at a time; `message.port` says which input it is of. Returns the joined message
  /// when it is complete.
  [[nodiscard]] std::optional<Message> accept(Message message);

 private:
  struct Partial {
    std::size_t arrived = 0;
    std::vector<Message> by_port;
  };
  std::size_t inputs_;
  std::map<std::uint64_t, Partial> partial_;
};

}  // namespace seam::host
