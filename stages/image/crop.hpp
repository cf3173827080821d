/// The stage that keeps a part of each image.
///
///     image, perhaps box ──► [ image.crop ] ──► image of height x width, or of the box
///
/// With `position = "random_resized"` the part has a random size and is resized to height x width.
///
///     centre_region         ┐
///     random_region         ├──► Region ──► crop_image
///     random_resized_region │
///     box_region            ┘
#pragma once

#include "stages/image/random_sides.hpp"
#include "stages/image/resize.hpp"

namespace seam::stages {

/// Rows starting at `top` and columns starting at `left`.
struct Region {
  int top = 0;
  int left = 0;
  int height = 0;
  int width = 0;

  friend bool operator==(const Region&, const Region&) = default;
};

/// height x width at the centre. An odd margin is halved as in torchvision's CenterCrop, which
/// rounds the half to even: of 5 pixels 2 are before the region, of 7 pixels 4. Throws seam::Error
/// for a smaller image.
Region centre_region(const Image& image, int height, int width);

/// height x width at a uniformly random position. Draws the row, then the column. Throws
/// seam::Error for a smaller image.
Region random_region(const Image& image, int height, int width, Random& random);

/// A part of random size, shape and position, as torchvision's RandomResizedCrop (get_params) draws
/// it; the aspect is width / height. Draws sides up to ten times (random_sides.hpp), and then the
/// position of the first ones that fit. If none fit: the largest centred part with an aspect in the
/// range, at least one pixel wide and high. Throws std::invalid_argument for an image without
/// pixels.
Region random_resized_region(const Image& image, const SideRanges& ranges, Random& random);

/// The box (left, top, right, bottom), each side at the nearest boundary between pixels; a side in
/// the middle of a pixel is rounded to the even boundary, as in Pillow's crop. Throws seam::Error
/// for a box that exceeds the image, is less than a pixel wide or high, or has a side that is NaN.
Region box_region(const Image& image, const std::array<float, 4>& box);

/// Whether the region has pixels and is inside the image.
[[nodiscard]] bool has_region(const Image& image, const Region& region);

/// The part in separate memory, so that the rest of the image can be freed; the same handle if it
/// is the whole image. Throws std::invalid_argument for a region without pixels or outside the
/// image.
Image crop_image(const Image& image, const Region& region);

class Crop final : public ParallelTransform {
 public:
  static constexpr std::string_view name = "image.crop";

  void declare(Declaration& d) override;
  void open(Context& context) override;
  void process(Packet& packet, Context& context) const override;

 private:
  enum class Position : std::uint8_t { centre, random, random_resized };

  Region region_of(const Image& image, const Packet& packet, Context& context) const;

  std::optional<int> height_;
  std::optional<int> width_;
  Position position_ = Position::centre;
  bool box_ = false;
  // For random_resized: the ranges of torchvision's RandomResizedCrop.
  SideRanges ranges_{
      .area_least = 0.08, .area_most = 1, .aspect_least = 3.0 / 4, .aspect_most = 4.0 / 3};
  Interpolation interpolation_ = Interpolation::bilinear;
};

}  // namespace seam::stages
