/// Random erasing: a rectangle of a picture is painted over.
///
///     random_erased_region ──► Region ──► erase_region    (one colour)
///                                    └──► erase_with_noise
///
/// Z. Zhong, L. Zheng, G. Kang, S. Li, Y. Yang, "Random Erasing Data Augmentation", AAAI 2020,
/// algorithm 1, with the draws of torchvision's RandomErasing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include <seam/image.hpp>
#include <seam/random.hpp>

#include "stages/image/crop_image.hpp"
#include "stages/image/random_sides.hpp"

namespace seam::stages {

/// Which part is erased; the aspect is height / width. Up to ten times: the sides
/// (random_sides.hpp), and the place of the first that are shorter than the picture's. Nothing
/// where none were.
std::optional<Region> random_erased_region(const Image& image, const SideRanges& ranges,
                                           Random& random);

/// The image with the region in one colour, in memory of its own. `value`: a number for each
/// channel, or one for all. Throws std::invalid_argument for another length of it and for a region
/// beyond the picture.
Image erase_region(const Image& image, const Region& region, std::span<const std::uint8_t> value);

/// The same with every channel of every pixel uniform in 0 ... 255.
Image erase_with_noise(const Image& image, const Region& region, Random& random);

}  // namespace seam::stages
