/// Finds fields that a stage writes without declaring them: the run would succeed with different
/// numbers.
///
///     WriteWatch ──► the stage's call ──► problem()
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "seam/declaration.hpp"
#include "seam/packet.hpp"

namespace seam::host {

/// Created before a call and queried after it.
class WriteWatch {
 public:
  /// Holds the fields that the stage must not change, so that writing a value through the packet
  /// replaces it with a copy. `description` outlives the watch.
  WriteWatch(const Packet& packet, const Description& description);

  /// Returns which tensors were written into although other packets may share them, and which
  /// fields of `after` the stage added or changed without declaring them; empty if none. `after`:
  /// null if the stage has taken the packet.
  [[nodiscard]] std::string problem(const Packet* after) const;

 private:
  [[nodiscard]] std::string written_in_place(const Packet* after) const;
  struct Held {
    Packet::Slot slot;
    std::uint64_t version;
    bool shared;
    bool may_change;
  };

  const Description& description_;
  std::vector<Held> held_;  // all except fields that the stage provides and no other packet shares
  struct Owned {
    std::string_view field;
    std::uint64_t version;
  };
  std::vector<Owned> owned_;  // those
};

/// Returns the fields of a packet that the source or collector that made it does not declare; empty
/// if there are none.
[[nodiscard]] std::string undeclared_fields(const Packet& made, const Description& description);

}  // namespace seam::host
