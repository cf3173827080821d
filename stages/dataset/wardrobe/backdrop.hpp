/// The surroundings of the figure in a photograph: the background, and the lens.
#pragma once

#include <opencv2/core.hpp>
#include <seam/random.hpp>

#include "stages/dataset/wardrobe/camera.hpp"

namespace seam::stages::wardrobe {

/// Studio paper, a coloured wall, or a room with a floor.
[[nodiscard]] cv::Mat3b backdrop(Random& random, int full_canvas, View view);

/// Turns, tilts and bends the painted figure.
class Warp {
 public:
  Warp(Random& random, int canvas, View view);
  [[nodiscard]] cv::Mat apply(const cv::Mat& picture) const;

 private:
  cv::Mat2f from_;
};

}  // namespace seam::stages::wardrobe
