/// Joins branches: one packet with the fields of all branches.
///
///     number 7 ──► fork ──┬──► b: as it was ────────────────────┐
///                         └──► add: 8 ──► fork ──┬──► d: as add │
///                                                └──► e: 9 ─────┴──► join: 9
///
/// Several inputs may have a field: some as it was before the split, one with a changed value. The
/// changed value is used, whichever input arrived first. Before the run, it was checked that no two
/// branches change the same field.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "pipeline/graph/message.hpp"

namespace seam::host {

/// Waits until every input has sent its message with a sequence number. A gap on any input results
/// in a gap.
class Join {
 public:
  explicit Join(std::size_t inputs) : inputs_(inputs) {}
  /// One thread at a time; `message.port` is the number of the input. Returns the joined message
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
