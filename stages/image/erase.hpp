/// The stage that paints over a part of some training images, a different part in every epoch.
///
///     image ──► [ image.erase ] ──► image of the same size, perhaps with a rectangle erased
///
///     random_erased_region ──► Region ──► erase_region    (one colour)
///                                    └──► erase_with_noise
///
/// Z. Zhong, L. Zheng, G. Kang, S. Li, Y. Yang, "Random Erasing Data Augmentation", AAAI 2020,
/// algorithm 1, with the draws of torchvision's RandomErasing.
#pragma once

#include "stages/image/crop.hpp"
#include "stages/image/random_sides.hpp"

namespace seam::stages {

/// The part to erase; the aspect is height / width. Draws sides up to ten times (random_sides.hpp),
/// and then the position of the first ones that are shorter than the image's; nullopt if none are.
std::optional<Region> random_erased_region(const Image& image, const SideRanges& ranges,
                                           Random& random);

/// The image with the region in one colour, in separate memory. `value`: a number for each channel,
/// or one for all. Throws std::invalid_argument for any other number of values and for a region
/// outside the image.
Image erase_region(const Image& image, const Region& region, std::span<const std::uint8_t> value);

/// The same with every channel of every pixel uniform in 0 ... 255.
Image erase_with_noise(const Image& image, const Region& region, Random& random);

class Erase final : public ParallelTransform {
 public:
  static constexpr std::string_view name = "image.erase";

  void declare(Declaration& d) override;
  void open(Context& context) override;
  void process(Packet& packet, Context& context) const override;

 private:
  enum class Fill : std::uint8_t { constant, random };

  void check_channels(const Image& image) const;

  double probability_ = 0.5;
  SideRanges ranges_{
      .area_least = 0.02, .area_most = 0.33, .aspect_least = 0.3, .aspect_most = 3.3};
  Fill fill_ = Fill::constant;
  std::vector<std::uint8_t> value_{0};  // black
};

}  // namespace seam::stages
