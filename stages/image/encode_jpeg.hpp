/// Writes JPEG with libjpeg. OpenCV's imgcodecs would do the same, but loads a hundred libraries
/// such as GDAL, which takes 0.16 s at the start of each run.
#pragma once

#include <cstdint>
#include <vector>

#include <seam/image.hpp>

namespace seam::stages {

/// The bytes of a JPEG file of quality 90. The image is grey or RGB, of at most 65,500 pixels per
/// side; throws seam::Error for others.
[[nodiscard]] std::vector<std::uint8_t> encode_jpeg(const Image& image);

}  // namespace seam::stages
