#include "stages/image/random_sides.hpp"

#include <cmath>

namespace seam::stages {

RandomSides draw_sides(const Image& image, const SideRanges& ranges, Random& random) {
  const double area = static_cast<double>(image.height()) * image.width() *
                      random.uniform(ranges.area_least, ranges.area_most);
  const double aspect =
      std::exp(random.uniform(std::log(ranges.aspect_least), std::log(ranges.aspect_most)));
  return {.numerator = nearest_whole(std::sqrt(area * aspect)),
          .denominator = nearest_whole(std::sqrt(area / aspect))};
}

}  // namespace seam::stages
