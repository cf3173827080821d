#include "stages/image/resize.hpp"

#include <utility>

#include "stages/image/move_landmarks.hpp"

namespace seam::stages {

void Resize::declare(Declaration& d) {
  d.doc(
      "Resizes every image to height x width without keeping the aspect ratio. An image that "
      "already has this size is passed on unchanged.");
  d.parameter("height", height_, "output height").range(1, 65535).unit("px");
  d.parameter("width", width_, "output width").range(1, 65535).unit("px");
  declare_interpolation(d, interpolation_);
  d.needs(field::image);
  d.accepts(field::landmarks).doc("moved with the image");
  d.accepts(field::visibility).doc("of landmarks: one that leaves the image becomes cut off");
  d.provides(field::image).values({"changed"});
}

void Resize::process(Packet& packet, Context& /*context*/) const {
  const Image before = packet.get(field::image);
  Image after = resize_image(before, height_, width_, interpolation_);
  move_landmarks(packet, before, after, resizing_map(before, after));
  packet.set(field::image, std::move(after));
}

}  // namespace seam::stages
