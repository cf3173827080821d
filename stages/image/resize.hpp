/// The stage that brings all pictures to one size.
///
///     image of any size ──► [ image.resize ] ──► image of height x width
#pragma once

#include <string_view>

#include <seam/stage.hpp>

#include "stages/image/resize_image.hpp"

namespace seam::stages {

/// Stretches each side on its own (resize_image.hpp); a picture that has the size is passed on
/// untouched.
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
