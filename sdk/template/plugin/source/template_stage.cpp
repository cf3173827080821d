#include "template_stage.hpp"

#include <string>
#include <utility>

void TemplateStage::declare(seam::Declaration& d) {
  d.doc("Draws images of black and white stripes; those of image i are i + 1 pixels wide.");
  d.parameter("pictures", pictures_, "number of images to draw").range(1, 1000000);
  d.parameter("side", side_, "height and width").range(8, 4096).unit("px");
  d.provides(seam::field::image);
  d.provides(seam::field::index).doc("number of the image, from 0");
}

void TemplateStage::begin(seam::Context& /*context*/) {
  next_ = 0;  // each run of a flow gets all images
}

seam::More TemplateStage::produce(seam::Emitter& emitter, seam::Context& /*context*/) {
  // One packet per call: the host calls again when the flow has capacity.
  const int width = next_ + 1;
  seam::Image image(side_, side_, 3);
  for (int y = 0; y < side_; ++y) {
    for (int x = 0; x < 3 * side_; ++x) image.row(y)[x] = x / 3 / width % 2 == 0 ? 0 : 255;
  }
  // The origin identifies this packet in messages: a list, a line in it, an item.
  seam::Packet packet({nullptr, 0, "stripes of " + std::to_string(width) + " px"});
  packet.set(seam::field::image, std::move(image));
  packet.set(seam::field::index, next_);
  emitter.emit(std::move(packet));
  return ++next_ < pictures_ ? seam::More::yes : seam::More::no;
}
