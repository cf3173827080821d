/// Resizing to a fixed size.
#pragma once

#include <seam/image.hpp>

namespace seam::stages {

enum class Interpolation : std::uint8_t {
  bilinear,     ///< between the four nearest pixels; loses pixels in between when downscaling
  antialiased,  ///< bilinear, but over all pixels near a new one; the bytes of Pillow's BILINEAR
  nearest,      ///< the pixel whose centre is nearest, as in Pillow's NEAREST
  area,         ///< the mean over the pixels that a new one covers: best for downscaling
};

/// The image at height x width, sides stretched independently. Returns the same handle if the size
/// is already right. Throws std::invalid_argument for an empty image or a side below 1.
Image resize_image(const Image& image, int height, int width,
                   Interpolation interpolation = Interpolation::bilinear);

}  // namespace seam::stages
