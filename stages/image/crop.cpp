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
      "Crops every image to height x width pixels; with `box`, the image's bounding box is cut out "
      "first. A smaller image is an error and is never padded or enlarged; only `random_resized` "
      "resizes the crop to height x width.");
  d.parameter("height", height_, "output height; default: height of the box")
      .range(1, 65535)
      .unit("px");
  d.parameter("width", width_, "output width; default: width of the box")
      .range(1, 65535)
      .unit("px");
  d.parameter("position", position_,
              "which part is kept: the centre, or a random part that differs in every epoch; "
              "random_resized: a part of random size and shape, resized to height x width",
              {{"centre", Position::centre},
               {"random", Position::random},
               {"random_resized", Position::random_resized}});
  d.parameter("box", box_, "whether to cut out the image's field 'box' first");
  d.parameter("area_least", area_least_,
              "random_resized: minimum fraction of the image area to keep (uniform); default: 0.08")
      .range(0.0001, 1);
  d.parameter("area_most", area_most_,
              "random_resized: maximum fraction of the image area to keep; default: 1")
      .range(0.0001, 1);
  d.parameter("aspect_least", aspect_least_,
              "random_resized: minimum aspect ratio (width / height) of the kept part, "
              "log-uniform; default: 3/4")
      .range(0.01, 100);
  d.parameter("aspect_most", aspect_most_,
              "random_resized: maximum aspect ratio of the kept part; default: 4/3")
      .range(0.01, 100);
  declare_interpolation(d, interpolation_, "of random_resized; ");
  d.needs(field::image);
  d.accepts(field::landmarks).doc("moved with the image");
  d.accepts(field::visibility).doc("of landmarks: one that leaves the image becomes cut off");
  if (box_) d.needs(field::box).doc("in pixels of this image: no stage may have resized it");
  d.provides(field::image);
}

void Crop::open(Context& /*context*/) {
  if (height_.has_value() != width_.has_value()) {
    throw Error("image.crop has only one of height and width: set both", Fault::configuration);
  }
  if (position_ == Position::random_resized) {
    if (!height_) {
      throw Error("position = \"random_resized\" needs height and width", Fault::configuration);
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
    throw Error("image.crop needs height and width, or box = true for images with a field 'box'",
                Fault::configuration);
  }
  if (position_ == Position::random) {
    throw Error(
        "position = \"random\" has no effect, because the whole box is kept: set height and width, "
        "or remove position",
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
    // Landmarks are moved again: those outside the part become cut off before it is resized.
    const Image part = image;
    image = resize_image(part, *height_, *width_, interpolation_);
    move_landmarks(packet, part, image, resizing_map(part, image));
  }
  packet.set(field::image, std::move(image));
}

}  // namespace seam::stages
