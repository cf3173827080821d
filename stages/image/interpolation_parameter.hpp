/// The parameter `interpolation` of the stages that resize.
#pragma once

#include <string>

#include <seam/declaration.hpp>

#include "stages/image/resize_image.hpp"

namespace seam::stages {

/// `when`: the text before the list of choices, for a stage that does not always resize.
inline void declare_interpolation(Declaration& d, Interpolation& interpolation,
                                  const std::string& when = {}) {
  d.parameter(
      "interpolation", interpolation,
      when +
          "bilinear: between the four nearest pixels; antialiased: the same for upscaling, and "
          "over all pixels nearby for downscaling, as in Pillow and torchvision; nearest: the "
          "nearest pixel, as Keras 2.2 loads images; area: the mean over the covered pixels, for "
          "downscaling",
      {{"bilinear", Interpolation::bilinear},
       {"antialiased", Interpolation::antialiased},
       {"nearest", Interpolation::nearest},
       {"area", Interpolation::area}});
}

}  // namespace seam::stages
