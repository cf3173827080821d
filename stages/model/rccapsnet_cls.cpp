#include "stages/model/rccapsnet_cls.hpp"

namespace seam::stages {

void RccapsnetCls::declare(Declaration& d) {
  d.doc(
      "RCCapsNet-CLS, the classifier with residual blocks (Kınlı 2019): one class capsule per "
      "category, whose length shows how much of the category is in the image. As released, a 7x7 "
      "convolution of stride 1 and narrower blocks; as published, the blocks of RCCapsNet. Any "
      "image size.");
  declare_network(d);
}

nn::NetworkOptions RccapsnetCls::preset(Preset which) const {
  return which == Preset::as_published ? nn::rccapsnet_cls_as_published()
                                       : nn::rccapsnet_cls_as_released();
}

}  // namespace seam::stages
