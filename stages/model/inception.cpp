#include "stages/model/inception.hpp"

namespace seam::stages {

void Inception::declare(Declaration& d) {
  const auto most = static_cast<double>(nn::inception_block_names().size());
  d.doc(
      "The first blocks of Inception v3 (Szegedy et al. 2016) with an embedding instead of "
      "classes: six, a baseline of Siamese Capsule Networks. Its weights are named as torchvision "
      "names them: import them with skip = [\"embedding.*\"], and use images with values from -1 "
      "to 1.");
  d.parameter("blocks", options_.blocks,
              "number of blocks, out of Mixed_5b, 5c, 5d, 6a, ..., 6e, 7a, 7b, 7c")
      .range(1, most);
  d.parameter("width", options_.width,
              "factor on the channels of each convolution; the result is rounded, at least 1")
      .range(0.001, 16);
  d.parameter("dimensions", options_.dimensions, "length of the embedding").range(1, 65536);
  d.parameter("unit_length", options_.unit_length, "whether to scale the embedding to length 1");
  d.needs(field::images)
      .doc("at least 27x27 pixels; with more than 3 blocks 43x43, with more than 8 75x75");
  d.provides(field::embedding).contract("f32[N," + std::to_string(options_.dimensions) + "]");
  declare_module(d);
}

void Inception::forward(nn::Inception& net, Packet& packet, Context& /*context*/) {
  packet.set(field::embedding, net->forward(packet.get(field::images)));
}

std::vector<std::string> Inception::without_place() const {
  std::vector<std::string> patterns{"AuxLogits.*", "fc.*"};
  const std::vector<std::string>& names = nn::inception_block_names();
  for (auto block = static_cast<std::size_t>(options_.blocks); block < names.size(); ++block) {
    patterns.push_back(names[block] + ".*");
  }
  return patterns;
}

}  // namespace seam::stages
