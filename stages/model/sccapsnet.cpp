#include "stages/model/sccapsnet.hpp"

namespace seam::stages {

void Sccapsnet::declare(Declaration& d) {
  d.doc(
      "SCCapsNet, the stacked-convolution capsule network for clothing retrieval (Kınlı 2019). "
      "Four 7x7 convolutions of stride 2, primary capsules, and dynamic routing with one weight "
      "matrix shared by all input capsules. With the defaults it has 2,425,536 weights and running "
      "statistics. Any image size.");
  declare_network(d);
}

nn::NetworkOptions Sccapsnet::preset(Preset which) const {
  return which == Preset::as_published ? nn::sccapsnet_as_published() : nn::sccapsnet_as_released();
}

}  // namespace seam::stages
