#include "stages/model/dense_decoder.hpp"

#include <string>

#include "stages/model/drawn_capsule.hpp"
#include "stages/nn/initialisation.hpp"
#include "stages/reconstruction.hpp"

namespace seam::stages {

void DenseDecoder::declare(Declaration& d) {
  d.doc(
      "The decoder of the first capsule network (Sabour et al. 2017): draws an image from one "
      "class capsule by dense layers. In training this is the capsule of the image's category, in "
      "evaluation the longest one.");
  d.parameter("classes", options_.classes, "class capsules").range(1, 100000);
  d.parameter("capsule_size", options_.capsule_size, "size of a class capsule").range(1, 1024);
  d.parameter("hidden", options_.hidden, "units of the layers before the last one, which have ReLU")
      .range(1, 65536);
  d.parameter("channels", options_.channels,
              "channels to draw: 1 (grey, as three equal channels) or 3")
      .range(1, 3);
  d.parameter("image_height", options_.images.height, "height of the images").range(1, 4096);
  d.parameter("image_width", options_.images.width, "width of the images").range(1, 4096);
  declare_drawn_capsule(d, options_.classes, options_.capsule_size);
  d.provides(field::reconstruction)
      .contract("f32[N,3," + std::to_string(options_.images.height) + "," +
                std::to_string(options_.images.width) + "]");
  declare_module(d);
}

nn::DenseDecoder DenseDecoder::make() const {
  return nn::DenseDecoder(options_, nn::generator_seed());
}

void DenseDecoder::forward(nn::DenseDecoder& net, Packet& packet, Context& context) {
  packet.set(field::reconstruction,
             net->forward(packet.get(field::capsules), drawn_capsule(packet, context)));
}

}  // namespace seam::stages
