/// Draws photographs of the wardrobe's garments: worn or laid flat, from the front, the side or the
/// back, with folds, light, a room behind, and never twice the same pose.
///
///     design + colourway ──► cloth ─┐
///     view ──► camera, pose, light ─┴─► figure, painted on a background
///
/// Everything is drawn two or three times too large and shrunk at the end.
#pragma once

#include <opencv2/core.hpp>
#include <string>

#include "stages/dataset/wardrobe/design.hpp"

namespace seam::stages::wardrobe {

/// "1_front", "2_side", "3_back", "4_full", "6_flat", "7_additional", then "11_front" and so on:
/// the part between colour and ".jpg" in a file name. Views count from 0.
[[nodiscard]] std::string view_name(int view);

/// Draws the images of one item in one colour, for which it weaves the cloth once.
class GarmentArtist {
 public:
  /// `size` is the side of the images in pixels. Items and colours count from 0.
  GarmentArtist(std::uint64_t seed, int item, int colour, int size);

  /// An image (blue, green, red) of size x size. Views count from 0. The same arguments give the
  /// same pixels in any order.
  [[nodiscard]] cv::Mat3b draw(int view) const;

 private:
  std::uint64_t seed_;
  int item_;
  int colour_;
  int size_;
  int canvas_;  ///< side of the canvas before shrinking
  GarmentDesign design_;
  cv::Mat3b cloth_;
};

}  // namespace seam::stages::wardrobe
