/// The stage that resizes all images to the same size.
///
///     image of any size ──► [ image.resize ] ──► image of height x width
#pragma once

#include <string_view>

#include <seam/stage.hpp>

#include "stages/image/resize_image.hpp"

namespace seam::stages {

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
