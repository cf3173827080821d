/// Draws photographs of the wardrobe's garments: worn or laid flat, from the front, the side or the
/// back, with folds, light, a room behind, and never twice the same pose.
///
///     design + colourway ──► cloth ─┐
///     view ──► pose, folds, light ──┴─► figure ──► bent and turned ──► set on a background
///
/// Everything is drawn two to four times too large and shrunk at the end.
#pragma once

#include <opencv2/core.hpp>
#include <string>

#include "stages/dataset/wardrobe/cloth.hpp"
#include "stages/dataset/wardrobe/design.hpp"

namespace seam::stages {

/// "1_front", "2_side", "3_back", "4_full", "6_flat", "7_additional", then "11_front" and so on:
/// the part between colour and ".jpg" in a file name. Views count from 0.
[[nodiscard]] std::string wardrobe_view_name(int view);

/// Draws the images of one item; weaves its cloth once.
class GarmentArtist {
 public:
  /// `size` is the side of the images in pixels.
  GarmentArtist(std::uint64_t seed, int item, int colours, int size);

  /// An image (blue, green, red) of size x size. Colours and views count from 0. The same arguments
  /// give the same pixels in any order; fastest colour by colour.
  [[nodiscard]] cv::Mat3b draw(int colour, int view);

 private:
  std::uint64_t seed_;
  int item_;
  int size_;
  int canvas_;  ///< side of the canvas before shrinking
  GarmentDesign design_;
  Cloth cloth_;
  Cloth front_;  ///< the cloth with its print

  // The cloth in the colours of the last image.
  int dyed_colour_ = -1;
  cv::Mat3b dyed_;
  cv::Mat3b dyed_front_;
};

}  // namespace seam::stages
