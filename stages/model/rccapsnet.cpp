#include "stages/model/rccapsnet.hpp"

namespace seam::stages {

void Rccapsnet::declare(Declaration& d) {
  d.doc(
      "RCCapsNet, the residual capsule network for clothing retrieval (Kınlı 2019). A 7x7 "
      "convolution and three residual blocks, all of stride 2, primary capsules, and dynamic "
      "routing with one weight matrix shared by all input capsules. With the defaults it has "
      "4,845,952 weights and running statistics. Any image size.");
  declare_network(d);
}

nn::NetworkOptions Rccapsnet::preset(Preset which) const {
  return which == Preset::as_published ? nn::rccapsnet_as_published() : nn::rccapsnet_as_released();
}

}  // namespace seam::stages
