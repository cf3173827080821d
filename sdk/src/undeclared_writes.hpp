/// Finds fields that a stage writes without declaring them: the run would end as a success, with
/// other numbers.
///
///     WriteWatch ──► the stage's call ──► problem()
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "seam/declaration.hpp"
#include "seam/packet.hpp"

namespace seam::host {

/// Made before a call, and asked after it.
class WriteWatch {
 public:
  /// Holds the fields that the stage must leave as they are, so that a value that it changes
  /// through the packet becomes another one. `description` outlives the watch.
  WriteWatch(const Packet& packet, const Description& description);

  /// The tensors that were written into although others may read them; empty if there are none.
  [[nodiscard]] std::string written_in_place() const;
  /// The same, and the fields of `after` that the stage has added or changed without declaring it.
  [[nodiscard]] std::string problem(const Packet& after) const;

 private:
  struct Held {
    Packet::Slot slot;
    std::uint64_t version;
    bool shared;
    bool may_change;
  };

  const Description& description_;
  std::vector<Held> held_;  // all but fields that the stage provides and nobody shares
};

/// The fields of a packet made by a source or collector that it does not declare; empty if there
/// are none.
[[nodiscard]] std::string undeclared_fields(const Packet& made, const Description& description);

}  // namespace seam::host
