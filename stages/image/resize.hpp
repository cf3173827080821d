/// The stage that resizes all images to the same size.
///
///     image of any size ──► [ image.resize ] ──► image of height x width
#pragma once

#include <string>
#include <string_view>

#include <seam/declaration.hpp>
#include <seam/stage.hpp>

#include "stages/image/resize_image.hpp"

namespace seam::stages {

inline ParameterBuilder declare_interpolation(Declaration& d, Interpolation& interpolation) {
  return d.parameter(
      "interpolation", interpolation,
      "bilinear: between the four nearest pixels; antialiased: the same for upscaling, and "
      "over all pixels nearby for downscaling, as in Pillow and torchvision; nearest: the "
      "nearest pixel, as Keras 2.2 loads images; area: the mean over the covered pixels, for "
      "downscaling",
      {{"bilinear", Interpolation::bilinear},
       {"antialiased", Interpolation::antialiased},
       {"nearest", Interpolation::nearest},
       {"area", Interpolation::area}});
}

/// Scales each side separately (resize_image.hpp); an image that already has the size is passed on
/// unchanged.
class Resize final : public ParallelTransform {
 public:
  static constexpr std::string_view name = "image.resize";

  void declare(Declaration& d) override;
  void process(Packet& packet, Context& context) const override;

 private:
  int height_ = 256;
  int width_ = 256;
  Interpolation interpolation_ = Interpolation::bilinear;
};

}  // namespace seam::stages
