/// Which files are images, by the extensions of their names.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace seam::stages {

/// The usual extensions of images. `image.decode` rejects those in formats that it does not read,
/// so that a data set does not silently leave them out.
[[nodiscard]] inline std::vector<std::string> usual_extensions() {
  return {"jpg", "jpeg", "png", "webp", "tif", "tiff", "bmp",  "gif",  "pbm", "pgm",
          "ppm", "pnm",  "pam", "ras",  "jp2", "heic", "heif", "avif", "jxl"};
}

/// The text with the letters A to Z in lower case.
[[nodiscard]] inline std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

}  // namespace seam::stages
