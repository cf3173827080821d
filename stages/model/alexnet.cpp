#include "stages/model/alexnet.hpp"

namespace seam::stages {

void AlexNet::declare(Declaration& d) {
  d.doc(
      "AlexNet (Krizhevsky 2014) with an embedding instead of classes. Its weights are named as "
      "torchvision names them, so its files can be imported as they are.");
  d.parameter("channels", options_.channels, "channels of the five convolutions").range(1, 65536);
  d.parameter("hidden", options_.hidden, "units of both dense layers").range(1, 65536);
  d.parameter("dropout", options_.dropout,
              "dropout probability before each dense layer, in training")
      .range(0, 0.99);
  d.parameter("dimensions", options_.dimensions, "length of the embedding").range(1, 65536);
  d.parameter("unit_length", options_.unit_length, "whether to scale the embedding to length 1");
  d.needs(field::images).doc("at least 63x63 pixels");
  d.provides(field::embedding).contract("f32[N," + std::to_string(options_.dimensions) + "]");
  declare_module(d);
}

void AlexNet::forward(nn::AlexNet& net, Packet& packet, Context& /*context*/) {
  packet.set(field::embedding, net->forward(packet.get(field::images)));
}

}  // namespace seam::stages
