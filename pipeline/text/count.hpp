/// Counts as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace seam::host {

/// "25,882".
std::string count_text(std::uint64_t count);
/// "1 packet", "25,882 packets".
std::string packets_text(std::uint64_t count);

}  // namespace seam::host
