#include "stages/model/cnn_embedding.hpp"

#include <string>

namespace seam::stages {

void CnnEmbedding::declare(Declaration& d) {
  d.doc(
      "The convolutions of SCCapsNet with pooling and a dense embedding instead of capsules. With "
      "the defaults it has 2,426,172 weights and running statistics, nearly as many as SCCapsNet. "
      "Any image size.");
  d.parameter("width", options_.width, "channels of the first convolution").range(1, 4096);
  d.parameter("channels", options_.channels, "channels of the last convolution").range(1, 65536);
  d.parameter("dimensions", options_.dimensions, "length of the embedding").range(1, 65536);
  d.parameter("dropout", options_.dropout, "probability that a whole channel is zeroed in training")
      .range(0, 0.99);
  d.parameter(
      "pooling", options_.pooling, "pooling of the last convolution over the pixels",
      {{"average", nn::Pooling::average}, {"generalised_mean", nn::Pooling::generalised_mean}});
  d.parameter("unit_length", options_.unit_length, "whether to scale the embedding to length 1");
  d.needs(field::images);
  d.provides(field::embedding).contract("f32[N," + std::to_string(options_.dimensions) + "]");
  declare_module(d);
}

void CnnEmbedding::forward(nn::ConvolutionalEmbedding& net, Packet& packet, Context& /*context*/) {
  packet.set(field::embedding, net->forward(packet.get(field::images)));
}

}  // namespace seam::stages
