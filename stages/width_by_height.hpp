/// Sizes of images and maps in texts, width first: "40x32".
#pragma once

#include <cstdint>
#include <string>

namespace seam::stages {

inline std::string width_by_height(std::int64_t width, std::int64_t height) {
  return std::to_string(width) + "x" + std::to_string(height);
}

}  // namespace seam::stages
