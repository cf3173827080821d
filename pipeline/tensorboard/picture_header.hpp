/// Reads the size of an image from the header of a JPEG or PNG file, without decoding it.
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

/// Returns nullopt if the bytes are neither format or end too early.
[[nodiscard]] std::optional<PictureHeader> picture_header(std::span<const std::byte> file);

}  // namespace seam::host::tensorboard
