#include "stages/image/erase.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "stages/counted.hpp"
#include "stages/image/check_order.hpp"
#include "stages/image/move_landmarks.hpp"
#include "stages/image/nearest_whole.hpp"

namespace seam::stages {
namespace {

/// Whether the pixel at the landmark lies in the region; of a landmark that is a little beyond the
/// picture, the pixel at the edge.
bool covers(const Region& region, const std::array<float, 2>& place, const Image& image) {
  const auto pixel = [](float at, int length) {
    return std::clamp<std::int64_t>(nearest_whole(static_cast<double>(at)), 0, length - 1);
  };
  const std::int64_t column = pixel(place[0], image.width());
  const std::int64_t row = pixel(place[1], image.height());
  return column >= region.left && column < region.left + region.width && row >= region.top &&
         row < region.top + region.height;
}

}  // namespace

void Erase::declare(Declaration& d) {
  d.doc(
      "Random erasing: with a probability, a rectangle of random size, shape and place is painted "
      "over. A picture in which none of ten rectangles drawn fits is passed on unchanged.");
  d.parameter("probability", probability_, "how often a picture loses a rectangle").range(0, 1);
  d.parameter("area_least", ranges_.area_least,
              "the rectangle's share of the picture's area is uniform from this")
      .range(0.0001, 1);
  d.parameter("area_most", ranges_.area_most, "... to this").range(0.0001, 1);
  d.parameter("aspect_least", ranges_.aspect_least,
              "the rectangle's height by its width is log-uniform from this")
      .range(0.01, 100);
  d.parameter("aspect_most", ranges_.aspect_most, "... to this").range(0.01, 100);
  d.parameter("fill", fill_,
              "what the rectangle shows: the colour `value`, or every channel of every pixel "
              "uniform in 0 to 255",
              {{"constant", Fill::constant}, {"random", Fill::random}});
  d.parameter("value", value_,
              "constant: one number, or red, green and blue; 0 (black) if not set");
  d.needs(field::image).doc("of 1 or 3 channels");
  d.accepts(field::landmarks).doc("stay where they are");
  d.accepts(field::visibility).doc("of landmarks: a visible one that is painted over is occluded");
  d.provides(field::image);
}

void Erase::open(Context& /*context*/) {
  check_order(ranges_.area_least, ranges_.area_most, "area");
  check_order(ranges_.aspect_least, ranges_.aspect_most, "aspect");
  if (value_ && fill_ == Fill::random) {
    throw Error("`value` has no effect with `fill = \"random\"`; remove it, or choose \"constant\"",
                Fault::configuration);
  }
  colour_ = value_.value_or(std::vector<std::uint8_t>{0});
  if (colour_.size() != 1 && colour_.size() != 3) {
    throw Error("`value` has " + counted(colour_.size(), "number") +
                    "; accepted are one, or three: red, green and blue",
                Fault::configuration);
  }
}

void Erase::check_channels(const Image& image) const {
  const int channels = image.channels();
  if (channels != 1 && channels != 3) {
    throw Error("the picture has " + std::to_string(channels) +
                " channels; image.erase takes pictures with 1 or 3");
  }
  if (channels == 1 && colour_.size() == 3) {
    throw Error(
        "the picture has 1 channel and `value` three numbers: set one number for pictures without "
        "colours");
  }
}

void Erase::process(Packet& packet, Context& context) const {
  const Image image = packet.get(field::image);
  check_channels(image);
  // Before anything is drawn: what is refused must not depend on chance.
  std::optional<PictureLandmarks> landmarks = landmarks_of(packet, image);
  Random random = context.random(packet);
  if (!random.coin(probability_)) return;
  const std::optional<Region> region = random_erased_region(image, ranges_, random);
  if (!region) return;
  packet.set(field::image, fill_ == Fill::random ? erase_with_noise(image, *region, random)
                                                 : erase_region(image, *region, colour_));
  if (!landmarks) return;
  constexpr auto visible = static_cast<std::int64_t>(LandmarkState::visible);
  for (std::size_t i = 0; i < landmark_count; ++i) {
    if (landmarks->states.at(i) != visible) continue;
    if (!covers(*region, landmarks->positions.at(i), image)) continue;
    landmarks->states.at(i) = static_cast<std::int64_t>(LandmarkState::occluded);
  }
  packet.set(field::visibility, landmarks->states);
}

}  // namespace seam::stages
