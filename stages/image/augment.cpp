#include "stages/image/augment.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "stages/image/check_order.hpp"
#include "stages/image/recolour.hpp"

namespace seam::stages {
namespace {

/// Multiplies all bytes, rounding and clamping to 255.
void multiply(Image& image, double factor) {
  std::array<std::uint8_t, 256> table{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    table[i] = static_cast<std::uint8_t>(std::min(255.0, static_cast<double>(i) * factor + 0.5));
  }
  std::uint8_t* const pixels = image.data();
  for (std::size_t i = 0; i < image.bytes(); ++i) pixels[i] = table[pixels[i]];
}

Image moved_and_brightened(const Image& image, const Augmentation& augmentation, Centre centre,
                           Contrast contrast) {
  const SourceMap map = source_map(augmentation, image.height(), image.width(), centre);
  if (contrast == Contrast::keep) {
    if (map == SourceMap{} && augmentation.brightness == 1) return image;
    return warp_bilinear(image, map, augmentation.brightness);
  }
  Image result = warp_bilinear(image, map);
  const std::uint8_t largest = largest_value(result);
  if (largest > 0) multiply(result, 255.0 / largest * augmentation.brightness);
  return result;
}

}  // namespace

std::array<double, 9> colour_matrix(double saturation, double hue_degrees) {
  constexpr std::array<double, 3> luma{0.213, 0.715, 0.072};
  constexpr std::array<double, 9> quarter_turn{-0.213, -0.715, 0.928,  //
                                               0.143,  0.140,  -0.283, -0.787, 0.715, 0.072};
  const double angle = hue_degrees * std::numbers::pi / 180;
  std::array<double, 9> matrix{};
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    const double chroma = (i % 4 == 0 ? 1.0 : 0.0) - luma.at(i % 3);  // of the unchanged colour
    matrix[i] = luma.at(i % 3) +
                saturation * (std::cos(angle) * chroma + std::sin(angle) * quarter_turn.at(i));
  }
  return matrix;
}

Augmentation draw_augmentation(const AugmentationRanges& ranges, Random& random) {
  const auto within = [&random](double most) { return random.uniform(-most, most); };
  Augmentation drawn;
  drawn.rotation_degrees = within(ranges.rotation_degrees);
  drawn.shift_rows = within(ranges.shift);
  drawn.shift_columns = within(ranges.shift);
  drawn.shear_degrees = within(ranges.shear_degrees);
  drawn.zoom_rows = random.uniform(ranges.zoom_least, ranges.zoom_most);
  drawn.zoom_columns = random.uniform(ranges.zoom_least, ranges.zoom_most);
  drawn.flip = random.coin(ranges.flip_probability);
  drawn.brightness = random.uniform(ranges.brightness_least, ranges.brightness_most);
  drawn.saturation = random.uniform(ranges.saturation_least, ranges.saturation_most);
  drawn.hue_degrees = within(ranges.hue_degrees);
  drawn.grey = random.coin(ranges.grey_probability);  // last, because it was added after the others
  return drawn;
}

SourceMap source_map(const Augmentation& augmentation, int height, int width, Centre centre) {
  constexpr double radians = std::numbers::pi / 180;
  const double cosine = std::cos(augmentation.rotation_degrees * radians);
  const double sine = std::sin(augmentation.rotation_degrees * radians);
  const double shear = augmentation.shear_degrees * radians;
  const double down = augmentation.shift_rows * height;
  const double right = augmentation.shift_columns * width;
  const double half = centre == Centre::middle ? -0.5 : 0.5;
  const double centre_row = height / 2.0 + half;
  const double centre_column = width / 2.0 + half;

  // Rotation x shift x shear x zoom, on (row, column, 1):
  //   | cos -sin |   | 1 0 down  |   | 1 -sin(shear) |   | zoom_rows            |
  //   | sin  cos | x | 0 1 right | x | 0  cos(shear) | x |         zoom_columns |
  SourceMap map;
  map.row_by_row = cosine * augmentation.zoom_rows;
  map.row_by_column =
      (-cosine * std::sin(shear) - sine * std::cos(shear)) * augmentation.zoom_columns;
  map.column_by_row = sine * augmentation.zoom_rows;
  map.column_by_column =
      (-sine * std::sin(shear) + cosine * std::cos(shear)) * augmentation.zoom_columns;
  map.row = cosine * down - sine * right + centre_row - map.row_by_row * centre_row -
            map.row_by_column * centre_column;
  map.column = sine * down + cosine * right + centre_column - map.column_by_row * centre_row -
               map.column_by_column * centre_column;
  if (augmentation.flip) {
    // Column c of the mirrored image is column width - 1 - c of the original.
    map.row += map.row_by_column * (width - 1);
    map.column += map.column_by_column * (width - 1);
    map.row_by_column = -map.row_by_column;
    map.column_by_column = -map.column_by_column;
  }
  return map;
}

Image augment_image(const Image& image, const Augmentation& augmentation, Centre centre,
                    Contrast contrast) {
  Image result = moved_and_brightened(image, augmentation, centre, contrast);
  // Saturation and hue keep the luma, so they have no effect on a grey image.
  const double saturation = augmentation.grey ? 0 : augmentation.saturation;
  const double hue_degrees = augmentation.grey ? 0 : augmentation.hue_degrees;
  if (saturation == 1 && hue_degrees == 0) return result;
  if (result.data() == image.data())
    result = warp_bilinear(image, {});  // the caller's image stays unchanged
  recolour(result, colour_matrix(saturation, hue_degrees));
  return result;
}

void Augment::declare(Declaration& d) {
  d.doc(
      "Rotates, shifts, shears, zooms, flips and brightens an image at random: one composed affine "
      "map with bilinear interpolation and repeated edges, then a horizontal flip, then "
      "brightness, then saturation and hue, or grey. The conventions are those of "
      "Keras-Preprocessing 1.1.0. A preset gives all ranges; a parameter that is set replaces its "
      "part of the preset.");
  d.parameter("preset", preset_,
              "as_released: the released code of SCCapsNet and RCCapsNet, including the two bugs "
              "of its library; corrected: the same without them; as_published: the thesis's text",
              {{"corrected", Preset::corrected},
               {"as_published", Preset::as_published},
               {"as_released", Preset::as_released}});
  d.parameter("rotation_degrees", rotation_degrees_, "uniform in ± this angle")
      .range(0, 180)
      .unit("degrees");
  d.parameter("shift", shift_, "uniform in ± this fraction of the side").range(0, 1);
  d.parameter("shear_degrees", shear_degrees_, "uniform in ± this angle")
      .range(0, 80)
      .unit("degrees");
  d.parameter("zoom_least", zoom_least_,
              "minimum of the zoom factor, uniform and separate for each side; below 1 enlarges")
      .range(0.01, 100);
  d.parameter("zoom_most", zoom_most_, "maximum of the zoom factor").range(0.01, 100);
  d.parameter("flip_probability", flip_probability_, "probability of a horizontal flip")
      .range(0, 1);
  d.parameter("brightness_least", brightness_least_, "minimum of the brightness factor (uniform)")
      .range(0, 100);
  d.parameter("brightness_most", brightness_most_, "maximum of the brightness factor")
      .range(0, 100);
  d.parameter("stretch", stretch_,
              "scale the values so that the largest is 255, before brightness: a bug of "
              "Keras-Preprocessing up to 1.1.0");
  d.parameter("saturation_least", ranges_.saturation_least,
              "minimum of the saturation factor (uniform); 0 is grey")
      .range(0, 100);
  d.parameter("saturation_most", ranges_.saturation_most, "maximum of the saturation factor")
      .range(0, 100);
  d.parameter("hue_degrees", ranges_.hue_degrees, "hue rotation, uniform in ± this angle")
      .range(0, 180)
      .unit("degrees");
  d.parameter("grey_probability", ranges_.grey_probability,
              "probability of making an image grey, as with a saturation of 0")
      .range(0, 1);
  d.needs(field::image).contract("u8[H,W,C]");
  d.provides(field::image).contract("u8[H,W,C]").values({"changed"});
}

void Augment::open(Context& /*context*/) {
  const AugmentationRanges usual;  // the released code's
  const bool published = preset_ == Preset::as_published;
  const bool released = preset_ == Preset::as_released;
  constexpr double published_shear = 5.7295779513082320877;  // 0.1 radian
  ranges_.rotation_degrees = rotation_degrees_.value_or(usual.rotation_degrees);
  ranges_.shift = shift_.value_or(published ? 0.1 : usual.shift);
  ranges_.shear_degrees =
      shear_degrees_.value_or(published ? published_shear : usual.shear_degrees);
  ranges_.zoom_least = zoom_least_.value_or(usual.zoom_least);
  ranges_.zoom_most = zoom_most_.value_or(usual.zoom_most);
  ranges_.flip_probability = flip_probability_.value_or(usual.flip_probability);
  ranges_.brightness_least = brightness_least_.value_or(usual.brightness_least);
  ranges_.brightness_most = brightness_most_.value_or(usual.brightness_most);
  contrast_ = stretch_.value_or(released) ? Contrast::stretch : Contrast::keep;
  centre_ = released ? Centre::keras_1_1_0 : Centre::middle;
  check_order(ranges_.zoom_least, ranges_.zoom_most, "zoom");
  check_order(ranges_.brightness_least, ranges_.brightness_most, "brightness");
  check_order(ranges_.saturation_least, ranges_.saturation_most, "saturation");
}

void Augment::process(Packet& packet, Context& context) const {
  Random random = context.random(packet);
  const Augmentation drawn = draw_augmentation(ranges_, random);
  packet.set(field::image, augment_image(packet.get(field::image), drawn, centre_, contrast_));
}

}  // namespace seam::stages
