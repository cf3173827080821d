#include "stages/image/resize.hpp"

namespace seam::stages {

void Resize::declare(Declaration& d) {
  d.doc(
      "Resizes every image to height x width without keeping the aspect ratio. An image that "
      "already has this size is passed on unchanged.");
  d.parameter("height", height_, "output height").range(1, 65535).unit("px");
  d.parameter("width", width_, "output width").range(1, 65535).unit("px");
  declare_interpolation(d, interpolation_);
  d.needs(field::image).contract("u8[h,w,C]");
  d.provides(field::image)
      .contract("u8[" + std::to_string(height_) + "," + std::to_string(width_) + ",C]")
      .values({"changed"});
}

void Resize::process(Packet& packet, Context& /*context*/) const {
  packet.set(field::image, resize_image(packet.get(field::image), height_, width_, interpolation_));
}

}  // namespace seam::stages
