#include "stages/image/crop.hpp"

#include <array>
#include <string>
#include <utility>

#include <seam/box.hpp>

#include "stages/image/check_order.hpp"
#include "stages/image/interpolation_parameter.hpp"
#include "stages/image/move_landmarks.hpp"

namespace seam::stages {
namespace {

/// torchvision's RandomResizedCrop; the aspect is width / height.
constexpr SideRanges usual_ranges{
    .area_least = 0.08, .area_most = 1, .aspect_least = 3.0 / 4, .aspect_most = 4.0 / 3};

}  // namespace

void Crop::declare(Declaration& d) {
  d.doc(
      "Cuts height x width pixels out of every picture, the picture's box first where `box` is "
      "set. A picture that is smaller is an error, never padded or enlarged; only `random_resized` "
      "brings the part that it keeps to height x width.");
  d.parameter("height", height_, "height of the result; if unset, that of the box")
      .range(1, 65535)
      .unit("px");
  d.parameter("width", width_, "width of the result; if unset, that of the box")
      .range(1, 65535)
      .unit("px");
  d.parameter("position", position_,
              "which part is kept: the middle, or one at random, another in every epoch; "
              "random_resized: one of random size and shape, resized to height x width",
              {{"centre", Position::centre},
               {"random", Position::random},
               {"random_resized", Position::random_resized}});
  d.parameter("box", box_, "cut the picture's field 'box' out first");
  d.parameter("area_least", area_least_,
              "random_resized: the kept share of the picture's area is uniform from this, 0.08 if "
              "not set")
      .range(0.0001, 1);
  d.parameter("area_most", area_most_, "... to this, 1 if not set").range(0.0001, 1);
  d.parameter("aspect_least", aspect_least_,
              "random_resized: the width of the kept part by its height is log-uniform from this, "
              "3/4 if not set")
      .range(0.01, 100);
  d.parameter("aspect_most", aspect_most_, "... to this, 4/3 if not set").range(0.01, 100);
  declare_interpolation(d, interpolation_, "of random_resized; ");
  d.needs(field::image);
  d.accepts(field::landmarks).doc("moved with the picture");
  d.accepts(field::visibility).doc("of landmarks: one that leaves the picture is cut off");
  if (box_) d.needs(field::box).doc("in pixels of this image: no stage may have resized it");
  d.provides(field::image);
}

void Crop::open(Context& /*context*/) {
  if (height_.has_value() != width_.has_value()) {
    throw Error("image.crop has a height or a width, but not both: set both", Fault::configuration);
  }
  if (position_ == Position::random_resized) {
    if (!height_) {
      throw Error("position = \"random_resized\" is not told to which size: set height and width",
                  Fault::configuration);
    }
    ranges_ = {.area_least = area_least_.value_or(usual_ranges.area_least),
               .area_most = area_most_.value_or(usual_ranges.area_most),
               .aspect_least = aspect_least_.value_or(usual_ranges.aspect_least),
               .aspect_most = aspect_most_.value_or(usual_ranges.aspect_most)};
    check_order(ranges_.area_least, ranges_.area_most, "area");
    check_order(ranges_.aspect_least, ranges_.aspect_most, "aspect");
    return;
  }
  check_resizing_unset();
  if (height_) return;
  if (!box_) {
    throw Error(
        "image.crop is not told what to keep: set height and width, or box = true for pictures "
        "with a field 'box'",
        Fault::configuration);
  }
  if (position_ == Position::random) {
    throw Error(
        "position = \"random\" has nothing to place, since the whole box is kept: set height and "
        "width, or leave position out",
        Fault::configuration);
  }
}

void Crop::check_resizing_unset() const {
  const std::array<std::pair<bool, const char*>, 5> parameters{
      {{area_least_.has_value(), "area_least"},
       {area_most_.has_value(), "area_most"},
       {aspect_least_.has_value(), "aspect_least"},
       {aspect_most_.has_value(), "aspect_most"},
       {interpolation_ != Interpolation::bilinear, "interpolation"}}};
  for (const auto& [set, parameter] : parameters) {
    if (!set) continue;
    throw Error(std::string("`") + parameter + "` has no effect with `position = \"" +
                    (position_ == Position::random ? "random" : "centre") +
                    "\"`; remove it, or choose \"random_resized\"",
                Fault::configuration);
  }
}

Region Crop::region_of(const Image& image, const Packet& packet, Context& context) const {
  if (position_ == Position::centre) return centre_region(image, *height_, *width_);
  Random random = context.random(packet);
  return position_ == Position::random ? random_region(image, *height_, *width_, random)
                                       : random_resized_region(image, ranges_, random);
}

void Crop::process(Packet& packet, Context& context) const {
  const Image before = packet.get(field::image);
  Image image = before;
  SourceMap map;
  const auto cut = [&image, &map](const Region& region) {
    image = crop_image(image, region);
    map.row += region.top;
    map.column += region.left;
  };
  if (box_) cut(box_region(image, packet.get(field::box)));
  if (height_) cut(region_of(image, packet, context));
  move_landmarks(packet, before, image, map);
  if (position_ == Position::random_resized) {
    // Landmarks move once more: what lies beside the part is cut off before it is made smaller.
    const Image part = image;
    image = resize_image(part, *height_, *width_, interpolation_);
    move_landmarks(packet, part, image, resizing_map(part, image));
  }
  packet.set(field::image, std::move(image));
}

}  // namespace seam::stages
