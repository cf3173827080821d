#include "stages/image/crop.hpp"

#include <utility>

#include <seam/box.hpp>

#include "stages/image/move_landmarks.hpp"

namespace seam::stages {

void Crop::declare(Declaration& d) {
  d.doc(
      "Cuts height x width pixels out of every picture, the picture's box first where `box` is "
      "set. A picture that is smaller is an error, never padded or enlarged.");
  d.parameter("height", height_, "height of the result; if unset, that of the box")
      .range(1, 65535)
      .unit("px");
  d.parameter("width", width_, "width of the result; if unset, that of the box")
      .range(1, 65535)
      .unit("px");
  d.parameter("position", position_,
              "which part is kept: the middle, or one at random, another in every epoch",
              {{"centre", Position::centre}, {"random", Position::random}});
  d.parameter("box", box_, "cut the picture's field 'box' out first");
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
  if (height_) {
    Region region;
    if (position_ == Position::random) {
      Random random = context.random(packet);
      region = random_region(image, *height_, *width_, random);
    } else {
      region = centre_region(image, *height_, *width_);
    }
    cut(region);
  }
  move_landmarks(packet, before, image, map);
  packet.set(field::image, std::move(image));
}

}  // namespace seam::stages
