/// Errors of LibTorch about devices, put down to the field that causes them and its provider.
///
///     "Expected all tensors to be on the same device" ──► "field 'embedding' is on the device
///     'cpu',
///                                                         ... stage 'mine' (acme.mine) provides
///                                                         it"
#pragma once

#include <map>
#include <string>

#include "seam/declaration.hpp"
#include "seam/packet.hpp"

namespace seam::host {

/// By field: the last stage before this one in the flow that provides it, as "stage 'NAME' (TYPE)".
using Providers = std::map<std::string, std::string, std::less<>>;

/// A message about the fields that a stage reads and that are not on the run's device; empty if
/// there is none, or if `cause`, the message of an exception, is not about devices.
std::string wrong_device(const Packet& packet, const Description& description,
                         const Providers& providers, const std::string& device,
                         const std::string& cause);

}  // namespace seam::host
