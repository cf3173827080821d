#include "stages/model/sccapsnet_cls.hpp"

namespace seam::stages {

void SccapsnetCls::declare(Declaration& d) {
  d.doc(
      "SCCapsNet-CLS, the classifier with stacked convolutions (Kınlı 2019): one class capsule per "
      "category, whose length shows how much of the category is in the image. As released, five "
      "9x9 convolutions without padding for images of 224x224, and each primary capsule has its "
      "own weights; as published, the convolutions of SCCapsNet and shared weights.");
  declare_network(d);
}

nn::NetworkOptions SccapsnetCls::preset(Preset which) const {
  return which == Preset::as_published ? nn::sccapsnet_cls_as_published()
                                       : nn::sccapsnet_cls_as_released();
}

}  // namespace seam::stages
