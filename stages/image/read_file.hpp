/// Reads whole files into memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace seam::stages {

/// Throws seam::Error naming the path and the system's reason.
std::vector<std::uint8_t> read_file(const std::filesystem::path& path);

}  // namespace seam::stages
