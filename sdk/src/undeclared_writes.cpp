#include "undeclared_writes.hpp"

#include <algorithm>
#include <string_view>

namespace seam::host {
namespace {

bool provides(const Description& description, std::string_view field) {
  return std::ranges::find(description.provides, field, &FieldInfo::name) !=
             description.provides.end() ||
         std::ranges::find(description.gathers, field, &GatheredField::name) !=
             description.gathers.end();
}

/// An accepted field may be changed: a network that adds to the loss, if there is one, accepts it.
bool may_change(const Description& description, std::string_view field) {
  return provides(description, field) ||
         std::ranges::find(description.accepts, field, &FieldInfo::name) !=
             description.accepts.end();
}

std::uint64_t version_of(const Packet::Slot& slot) {
  return slot.type->version == nullptr ? 0 : slot.type->version(slot.value.get());
}

/// Returns whether the value was replaced with a different one. An equal copy, perhaps on a
/// different device, is not a change.
bool is_changed(const Packet::Slot& before, const Packet::Slot& now) {
  if (now.value == before.value) return false;
  if (now.type->name != before.type->name) return true;
  return now.type->equal != nullptr && !now.type->equal(before.value.get(), now.value.get());
}

void add_write(std::string& problems, std::string_view verb, std::string_view field) {
  problems += (problems.empty() ? "it " : "; it ") + std::string(verb) + " field '" +
              std::string(field) + "', but does not declare it with d.provides(...)";
}

}  // namespace

WriteWatch::WriteWatch(const Packet& packet, const Description& description)
    : description_(description) {
  held_.reserve(packet.slots().size());
  for (const Packet::Slot& slot : packet.slots()) {
    const bool shared = slot.value.use_count() > 1;
    if (!shared && provides(description, slot.name)) {
      owned_.push_back({slot.name, version_of(slot)});
      continue;
    }
    held_.push_back({slot, version_of(slot), shared, may_change(description, slot.name)});
  }
}

std::string WriteWatch::written_in_place(const Packet* after) const {
  std::string problems;
  for (const Held& held : held_) {
    const bool is_its_own = held.may_change && !held.shared;
    const std::uint64_t version = version_of(held.slot);
    if (is_its_own || version == held.version) continue;
    // Views of one tensor have one version: a write into a view that the stage owns counts for all.
    const bool may_be_a_view = std::ranges::any_of(owned_, [&](const Owned& owned) {
      if (after == nullptr || owned.version != held.version) return false;
      const auto now = std::ranges::find(after->slots(), owned.field, &Packet::Slot::name);
      return now != after->slots().end() && version_of(*now) == version;
    });
    if (may_be_a_view) continue;
    problems += (problems.empty() ? "" : "; ") +
                ("it writes in place into the tensor of field '" + std::string(held.slot.name)) +
                "', which other packets may share; create a new tensor and set the field to it";
  }
  return problems;
}

std::string WriteWatch::problem(const Packet* after) const {
  std::string problems = written_in_place(after);
  if (after == nullptr) return problems;
  for (const Packet::Slot& now : after->slots()) {
    const auto before =
        std::ranges::find(held_, now.name, [](const Held& h) { return h.slot.name; });
    if (before == held_.end()) {
      if (!provides(description_, now.name)) add_write(problems, "adds", now.name);
    } else if (!before->may_change && is_changed(before->slot, now)) {
      add_write(problems, "changes", now.name);
    }
  }
  return problems;
}

std::string undeclared_fields(const Packet& made, const Description& description) {
  std::string problems;
  for (const Packet::Slot& slot : made.slots()) {
    if (!provides(description, slot.name)) add_write(problems, "adds", slot.name);
  }
  return problems;
}

}  // namespace seam::host
