/// What the head of a JPEG or PNG file says of the picture, without decoding it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace seam::host::tensorboard {

struct PictureHeader {
  int width = 0;
  int height = 0;
  int channels = 0;  ///< 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA

  friend bool operator==(const PictureHeader&, const PictureHeader&) = default;
};

/// None where the bytes are neither, or end before they say it.
[[nodiscard]] std::optional<PictureHeader> picture_header(std::span<const std::byte> file);

}  // namespace seam::host::tensorboard
