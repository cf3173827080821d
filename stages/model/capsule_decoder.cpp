#include "stages/model/capsule_decoder.hpp"

#include <seam/error.hpp>

#include <string>

#include "stages/model/drawn_capsule.hpp"
#include "stages/nn/initialisation.hpp"
#include "stages/reconstruction.hpp"

namespace seam::stages {

void CapsuleDecoder::declare(Declaration& d) {
  d.doc(
      "The decoder of the classifiers SCCapsNet-CLS and RCCapsNet-CLS (Kınlı 2019): draws an image "
      "from one class capsule by transposed convolutions. In training this is the capsule of the "
      "image's category, in evaluation the longest one.");
  d.parameter("architecture", architecture_,
              "transposed convolutions to 224x224 with kernels of 9x9 or, as later in the released "
              "code, 4x4; or to 256x256, as in the released code of the retrieval networks, "
              "in which "
              "they are unused",
              {{"kernels_9", Architecture::kernels_9},
               {"kernels_4", Architecture::kernels_4},
               {"retrieval", Architecture::retrieval}});
  d.parameter("classes", options_.classes, "class capsules").range(1, 100000);
  d.parameter("capsule_size", options_.capsule_size, "size of a class capsule").range(1, 1024);
  d.parameter("image_height", image_height_,
              "height of the images, a multiple of the strides' product; default: that of the "
              "architecture")
      .range(1, 65536);
  d.parameter("image_width", image_width_, "width of the images, likewise").range(1, 65536);
  d.parameter("dense_channels", options_.dense_channels,
              "channels of the map that a dense layer makes from the capsule")
      .range(1, 65536);
  d.parameter("channels", channels_,
              "channels of the transposed convolutions except the last, which has 3; empty: those "
              "of the architecture")
      .range(1, 65536);
  d.parameter("kernels", kernels_,
              "kernel sizes of all transposed convolutions; empty: those of the architecture")
      .range(1, 64);
  d.parameter("strides", strides_,
              "strides of all transposed convolutions, by which each multiplies height and width; "
              "empty: those of the architecture")
      .range(1, 16);
  d.parameter("slope", options_.slope, "slope of LeakyReLU below zero").range(0, 1);
  const nn::CapsuleDecoderOptions all = options();
  declare_drawn_capsule(d, all.classes, all.capsule_size);
  d.provides(field::reconstruction)
      .contract("f32[N,3," + std::to_string(all.images.height) + "," +
                std::to_string(all.images.width) + "]");
  declare_module(d);
}

nn::CapsuleDecoderOptions CapsuleDecoder::options() const {
  nn::CapsuleDecoderOptions all = options_;
  if (architecture_ == Architecture::kernels_4) {
    for (nn::ConvolutionLayer& layer : all.layers) layer.kernel = 4;
  }
  if (architecture_ == Architecture::retrieval) {
    all.images = {256, 256};
    all.layers = {{128, 9, 1}, {64, 7}, {32, 7}, {16, 5}, {16, 5}, {3, 5}};
  }
  if (image_height_) all.images.height = *image_height_;
  if (image_width_) all.images.width = *image_width_;
  if (!channels_.empty()) {
    all.layers.resize(channels_.size() + 1, all.layers.back());
    for (std::size_t at = 0; at < channels_.size(); ++at) {
      all.layers[at].out_channels = channels_[at];
    }
    all.layers.back().out_channels = 3;
  }
  for (std::size_t at = 0; at < all.layers.size(); ++at) {
    if (at < kernels_.size()) all.layers[at].kernel = kernels_[at];
    if (at < strides_.size()) all.layers[at].stride = strides_[at];
  }
  return all;
}

nn::CapsuleDecoder CapsuleDecoder::make() const {
  const nn::CapsuleDecoderOptions all = options();
  const auto check = [&](const std::vector<std::int64_t>& list, const char* parameter) {
    if (list.empty() || list.size() == all.layers.size()) return;
    throw Error("`" + std::string(parameter) + "` lists " + std::to_string(list.size()) +
                    " transposed convolutions, but there are " + std::to_string(all.layers.size()) +
                    ": one more than `channels`, since the last has 3",
                Fault::configuration);
  };
  check(kernels_, "kernels");
  check(strides_, "strides");
  return nn::CapsuleDecoder(all, nn::generator_seed());
}

void CapsuleDecoder::forward(nn::CapsuleDecoder& net, Packet& packet, Context& context) {
  packet.set(field::reconstruction,
             net->forward(packet.get(field::capsules), drawn_capsule(packet, context)));
}

}  // namespace seam::stages
