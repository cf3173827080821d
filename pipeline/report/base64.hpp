/// Bytes as text, for data URIs: RFC 4648, with padding.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace seam::host {

std::string base64(std::span<const std::byte> bytes);

}  // namespace seam::host
