#include "seam/packet.hpp"

#include <algorithm>

namespace seam {

void Packet::erase(std::string_view name) {
  std::erase_if(slots_, [name](const Slot& slot) { return slot.name == name; });
}

void Packet::put(Slot slot) {
  if (Slot* present = find(slot.name)) {
    *present = std::move(slot);
  } else {
    slots_.push_back(std::move(slot));
  }
}

std::size_t Packet::bytes() const {
  std::size_t total = sizeof(Packet) + slots_.capacity() * sizeof(Slot);
  for (const Slot& slot : slots_) total += slot.type->bytes(slot.value.get());
  return total;
}

void Packet::refuse(std::string_view name, std::string_view wanted_type) const {
  const Slot* slot = find(name);
  if (slot != nullptr) {
    throw Error("field '" + std::string(name) + "' holds a " + std::string(slot->type->name) +
                    ", not a " + std::string(wanted_type),
                Fault::internal);
  }
  std::string present;
  for (const Slot& other : slots_)
    present += (present.empty() ? "" : ", ") + std::string(other.name);
  throw Error("the packet has no field '" + std::string(name) + "'; it has " +
                  (present.empty() ? "none" : present) +
                  ". Declare it with needs() so that the pipeline is checked before it runs",
              Fault::internal);
}

}  // namespace seam
