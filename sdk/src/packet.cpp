#include "seam/packet.hpp"

#include <atomic>

#include "seam/plugin.hpp"

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

bool Packet::is_shared(const std::shared_ptr<void>& value) {
  if (value.use_count() > 1) return true;
  // use_count() does not order memory accesses: the last other owner dropped its reference with a
  // release, which needs an acquire here. ThreadSanitizer does not support fences, but dropping a
  // copy acquires too.
  if constexpr (std::string_view(SEAM_SANITIZER) == "thread") {
    std::shared_ptr<void>(value).reset();
  } else {
    std::atomic_thread_fence(std::memory_order_acquire);
  }
  return false;
}

std::size_t Packet::bytes() const {
  std::size_t total = sizeof(Packet) + slots_.capacity() * sizeof(Slot);
  for (const Slot& slot : slots_) total += slot.type->bytes(slot.value.get());
  return total;
}

std::string Packet::row_mismatch() const {
  const Slot* first = nullptr;
  std::int64_t rows = 0;
  for (const Slot& slot : slots_) {
    if (!slot.by_row || slot.type->rows == nullptr) continue;
    const std::int64_t here = slot.type->rows(slot.value.get());
    if (first == nullptr) {
      first = &slot;
      rows = here;
    } else if (here != rows) {
      const auto count = [](const Slot& of, std::int64_t number) {
        return "'" + std::string(of.name) + "' has " +
               (number < 0 ? "no rows" : std::to_string(number) + (number == 1 ? " row" : " rows"));
      };
      return count(*first, rows) + " and " + count(slot, here);
    }
  }
  return {};
}

void Packet::refuse(std::string_view name, std::string_view wanted_type) const {
  const Slot* slot = find(name);
  if (slot != nullptr) {
    throw Error("field '" + std::string(name) + "' is of type " + readable_type(slot->type->name) +
                    ", not " + readable_type(wanted_type),
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
