/// Cutting a part out of a picture.
///
///     centre_region         ┐
///     random_region         ├──► Region ──► crop_image
///     random_resized_region │
///     box_region            ┘
#pragma once

#include <array>

#include <seam/image.hpp>
#include <seam/random.hpp>

#include "stages/image/random_sides.hpp"

namespace seam::stages {

/// Rows from `top` and columns from `left` on.
struct Region {
  int top = 0;
  int left = 0;
  int height = 0;
  int width = 0;

  friend bool operator==(const Region&, const Region&) = default;
};

/// height x width in the middle. A margin that is odd is cut in two as torchvision's CenterCrop
/// does, half a pixel going to the even number: of 5 pixels 2 lie before the region, of 7 pixels 4.
/// Throws seam::Error for a picture that is smaller.
Region centre_region(const Image& image, int height, int width);

/// height x width anywhere in the picture, each place equally often. Draws the row, then the
/// column. Throws seam::Error for a picture that is smaller.
Region random_region(const Image& image, int height, int width, Random& random);

/// A part of random size, shape and place, as torchvision's RandomResizedCrop (get_params) draws
/// it; the aspect is width / height. Up to ten times: the sides (random_sides.hpp), and the place
/// of the first that fit. Where none did: in the middle, as much of the picture as has an aspect in
/// the range, at least a pixel wide and high. Throws std::invalid_argument for an image without
/// pixels.
Region random_resized_region(const Image& image, const SideRanges& ranges, Random& random);

/// The box (left, top, right, bottom), each side at the nearest boundary between pixels; one in the
/// middle of a pixel goes to the even boundary, as Pillow's crop places it. Throws seam::Error for
/// a box that reaches beyond the picture, is no pixel wide or high or has a side that is no number.
Region box_region(const Image& image, const std::array<float, 4>& box);

/// Whether the region has pixels and all of them are the picture's.
[[nodiscard]] bool has_region(const Image& image, const Region& region);

/// The part in memory of its own, so that the rest of the picture can go; the same handle where it
/// is the whole picture. Throws std::invalid_argument for a region without pixels or beyond the
/// picture.
Image crop_image(const Image& image, const Region& region);

}  // namespace seam::stages
