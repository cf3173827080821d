/// For networks whose weights depend on the size of the images, or that need a minimum size.
///
///     image.resize 32 x 32 ──► batch ──► images f32[N,3,32,32] ──► image_height, image_width = 32
#pragma once

#include <optional>
#include <string>
#include <utility>

#include <seam/contract.hpp>
#include <seam/declaration.hpp>

namespace seam::stages {

/// Declares image_height and image_width; if the file omits them, they are those of the arriving
/// images. With `when`, a parameter and its value, only then.
inline void declare_image_size(
    Declaration& d, std::int64_t& height, std::int64_t& width,
    const std::optional<std::pair<std::string, const char*>>& when = std::nullopt) {
  const auto side = [&](const std::string& of, std::int64_t& member) {
    ParameterBuilder parameter = d.parameter("image_" + of, member, of + " of the images");
    parameter.range(1, 65536).unit("px").from_field();
    if (when) parameter.only_with(when->first, when->second);
  };
  side("height", height);
  side("width", width);
}

/// The contract of images of this size, 0 being unknown, and of at least `least` on both sides.
[[nodiscard]] inline std::string images_of_size(std::int64_t height, std::int64_t width,
                                                std::int64_t least) {
  const auto side = [&](std::int64_t size, const char* name) {
    return size > 0 && size < least ? std::to_string(least) + "+" : dimension_of(size, name);
  };
  return "f32[N,3," + side(height, "image_height") + "," + side(width, "image_width") + "]";
}

/// The contract of images of any size with at least that many pixels on both sides.
[[nodiscard]] inline std::string images_of_at_least(std::int64_t least) {
  const std::string side = std::to_string(least) + "+";
  return "f32[N,3," + side + "," + side + "]";
}

}  // namespace seam::stages
