#include "wrong_device.hpp"

#include <algorithm>

#include "seam/error.hpp"

namespace seam::host {
namespace {

/// LibTorch has no exception of its own for it.
bool is_about_devices(std::string_view message) {
  const auto has = [&](std::string_view text) { return message.find(text) != message.npos; };
  return has("meta tensor") || (has("device") && (has("xpected") || has("same device")));
}

bool reads(const Description& description, std::string_view field) {
  return std::ranges::find(description.needs, field, &FieldInfo::name) != description.needs.end() ||
         std::ranges::find(description.accepts, field, &FieldInfo::name) !=
             description.accepts.end();
}

/// Empty if the value is on the device, or of a type that is on none.
std::string elsewhere(const Packet::Slot& slot, const std::string& device) {
  if (slot.type->violation == nullptr) return {};
  try {
    return slot.type->violation(slot.value.get(), "*[...]@" + device);
  } catch (const Error&) {
    return {};  // a type, or a library built with older headers, that knows no devices
  }
}

}  // namespace

std::string wrong_device(const Packet& packet, const Description& description,
                         const Providers& providers, const std::string& device,
                         const std::string& cause) {
  if (!is_about_devices(cause)) return {};
  std::string message;
  for (const Packet::Slot& slot : packet.slots()) {
    if (!reads(description, slot.name)) continue;
    const std::string problem = elsewhere(slot, device);
    if (problem.empty()) continue;
    const auto provider = providers.find(slot.name);
    message += (message.empty() ? "field '" : "; field '") + std::string(slot.name) +
               "' cannot be used: " + problem + ", and comes from " +
               (provider == providers.end() ? "an unknown stage" : provider->second);
  }
  if (message.empty()) return message;
  return message + "; read it with on_device(packet, field, context), which moves it to '" +
         device + "', or create it there (device_of(context)). LibTorch reports: " + cause;
}

}  // namespace seam::host
