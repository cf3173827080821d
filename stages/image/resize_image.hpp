/// Resizing to a fixed size.
#pragma once

#include <cstdint>

#include <seam/image.hpp>

namespace seam::stages {

enum class Interpolation : std::uint8_t {
  bilinear,  ///< between the four nearest pixels; when reducing a lot, pixels in between are lost
  antialiased,  ///< bilinear, but over all pixels near a new one; the bytes of Pillow's BILINEAR
  nearest,      ///< the pixel whose centre is nearest, as Pillow's NEAREST picks it
  area,         ///< the mean over the pixels that a new one covers: the choice for reducing
};

/// The image at height x width, sides stretched independently. Returns the same handle where the
/// size is right already. Throws std::invalid_argument for an empty image or a side below 1.
Image resize_image(const Image& image, int height, int width,
                   Interpolation interpolation = Interpolation::bilinear);

}  // namespace seam::stages
