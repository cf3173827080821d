#include "stages/model/lenet.hpp"

namespace seam::stages {

void LeNet::declare(Declaration& d) {
  d.doc(
      "LeNet-5 (LeCun et al. 1998) with rectifiers, max pooling and an embedding: the smallest "
      "baseline of Siamese Capsule Networks.");
  d.parameter("image_height", options_.image_height, "height of the images")
      .range(1, 65535)
      .unit("px");
  d.parameter("image_width", options_.image_width, "width of the images")
      .range(1, 65535)
      .unit("px");
  d.parameter("channels", options_.channels, "channels of the two convolutions").range(1, 65536);
  d.parameter("hidden", options_.hidden, "units of the two dense layers").range(1, 65536);
  d.parameter("dimensions", options_.dimensions, "length of the embedding").range(1, 65536);
  d.parameter("unit_length", options_.unit_length, "whether to scale the embedding to length 1");
  d.needs(field::images);
  d.provides(field::embedding).contract("f32[N," + std::to_string(options_.dimensions) + "]");
  declare_module(d);
}

void LeNet::forward(nn::LeNet& net, Packet& packet, Context& /*context*/) {
  packet.set(field::embedding, net->forward(packet.get(field::images)));
}

}  // namespace seam::stages
