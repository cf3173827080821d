#include "stages/image/crop_image.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>

#include <seam/error.hpp>

#include "stages/image/nearest_whole.hpp"

namespace seam::stages {
namespace {

std::string size_text(int height, int width) {
  return "height " + std::to_string(height) + " and width " + std::to_string(width);
}

void check_fits(const Image& image, int height, int width) {
  if (height <= image.height() && width <= image.width()) return;
  throw Error("the image has " + size_text(image.height(), image.width()) +
              ", which is less than the crop's " + size_text(height, width) +
              "; set a smaller height and width, or put image.resize before this image.crop (and "
              "after one that cuts out boxes)");
}

/// Half of the number; of an odd number, the even one of the two integers around the half.
int half_to_even(int margin) {
  const int half = margin / 2;
  return margin % 2 == 0 ? half : half + half % 2;
}

int nearest_boundary(float side) {
  return static_cast<int>(nearest_whole(static_cast<double>(side)));
}

/// As in torchvision: the margin of a side is halved, the smaller half before the part.
Region largest_region(const Image& image, const SideRanges& ranges) {
  const auto shortened = [](double side, int most) {
    return static_cast<int>(std::clamp<std::int64_t>(nearest_whole(side), 1, most));
  };
  Region region{.height = image.height(), .width = image.width()};
  const double aspect = static_cast<double>(image.width()) / image.height();
  if (aspect < ranges.aspect_least) {
    region.height = shortened(image.width() / ranges.aspect_least, image.height());
  } else if (aspect > ranges.aspect_most) {
    region.width = shortened(image.height() * ranges.aspect_most, image.width());
  }
  region.top = (image.height() - region.height) / 2;
  region.left = (image.width() - region.width) / 2;
  return region;
}

std::string box_text(const std::array<float, 4>& box) {
  std::ostringstream text;
  text << "the box with left " << box[0] << ", top " << box[1] << ", right " << box[2]
       << " and bottom " << box[3];
  return text.str();
}

}  // namespace

Region centre_region(const Image& image, int height, int width) {
  check_fits(image, height, width);
  return {.top = half_to_even(image.height() - height),
          .left = half_to_even(image.width() - width),
          .height = height,
          .width = width};
}

Region random_region(const Image& image, int height, int width, Random& random) {
  check_fits(image, height, width);
  const auto place = [&random](int margin) {
    return static_cast<int>(random.index(static_cast<std::uint64_t>(margin) + 1));
  };
  const int top = place(image.height() - height);
  const int left = place(image.width() - width);
  return {.top = top, .left = left, .height = height, .width = width};
}

Region random_resized_region(const Image& image, const SideRanges& ranges, Random& random) {
  if (image.bytes() == 0) throw std::invalid_argument("the image to crop has no pixels");
  for (int attempt = 0; attempt < attempts_at_sides; ++attempt) {
    const auto [width, height] = draw_sides(image, ranges, random);
    if (width < 1 || width > image.width() || height < 1 || height > image.height()) continue;
    return random_region(image, static_cast<int>(height), static_cast<int>(width), random);
  }
  return largest_region(image, ranges);
}

Region box_region(const Image& image, const std::array<float, 4>& box) {
  const auto [left, top, right, bottom] = box;
  // Written so that a NaN side counts as outside.
  const bool inside = left >= 0 && top >= 0 && right <= static_cast<float>(image.width()) &&
                      bottom <= static_cast<float>(image.height());
  if (!inside || !(left <= right) || !(top <= bottom)) {
    throw Error(
        box_text(box) + " is not inside the image of " + size_text(image.height(), image.width()) +
        ": accepted are 0 <= left < right <= width and 0 <= top < bottom <= height, in pixels of "
        "the image in the file; correct the box, and put image.crop before image.resize");
  }
  Region region{.top = nearest_boundary(top), .left = nearest_boundary(left)};
  region.height = nearest_boundary(bottom) - region.top;
  region.width = nearest_boundary(right) - region.left;
  if (region.height < 1 || region.width < 1) {
    throw Error(box_text(box) + " contains no pixel; correct the box or leave the image out");
  }
  return region;
}

bool has_region(const Image& image, const Region& region) {
  return region.top >= 0 && region.left >= 0 && region.height >= 1 && region.width >= 1 &&
         region.height <= image.height() && region.width <= image.width() &&
         region.top <= image.height() - region.height &&
         region.left <= image.width() - region.width;
}

Image crop_image(const Image& image, const Region& region) {
  if (!has_region(image, region)) {
    throw std::invalid_argument("the region to crop is not inside the image");
  }
  if (region.height == image.height() && region.width == image.width()) return image;
  Image result(region.height, region.width, image.channels());
  const std::size_t skipped =
      static_cast<std::size_t>(region.left) * static_cast<std::size_t>(image.channels());
  for (int y = 0; y < region.height; ++y) {
    std::copy_n(image.row(region.top + y) + skipped, result.row_bytes(), result.row(y));
  }
  return result;
}

}  // namespace seam::stages
