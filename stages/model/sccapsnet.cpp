#include "stages/model/sccapsnet.hpp"

namespace seam::stages {

void Sccapsnet::declare(Declaration& d) {
  d.doc(
      "SCCapsNet, the stacked-convolution capsule network for clothing retrieval (Kınlı 2019). "
      "Four 7x7 convolutions of stride 2, primary capsules, dynamic routing with one weight matrix "
      "that all input capsules share. With the defaults it has 2,425,536 numbers. Any image size.");
  declare_network(d);
}

nn::NetworkOptions Sccapsnet::preset(Preset which) const {
  return which == Preset::as_published ? nn::sccapsnet_as_published() : nn::sccapsnet_as_released();
}

}  // namespace seam::stages
