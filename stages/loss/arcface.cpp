#include "stages/loss/arcface.hpp"

namespace seam::stages {

void Arcface::declare(Declaration& d) {
  d.doc(
      "ArcFace (Deng et al. 2019): classification by item. The logits are the cosines between the "
      "embedding and one learned proxy per item; the angle to the correct proxy is increased by "
      "`margin`.");
  declare_proxies(d);
  d.parameter("margin", options_.margin,
              "added to the angle to the correct proxy; 0.5 is 28.6 degrees")
      .range(0, 3.14)
      .unit("rad");
  d.parameter("scale", options_.scale, "multiplies the cosines before the softmax")
      .range(1e-6, 1e6);
  declare_proxy_loss(d);
}

Tensor Arcface::compare(const Tensor& embedding, const Tensor& proxies,
                        const std::vector<std::int64_t>& labels) {
  const ArcfaceLoss result = arcface_loss(embedding, proxies, labels, options_);
  measure("positive_similarity", result.positive_similarity);
  measure("accuracy", result.accuracy);
  return result.loss;
}

}  // namespace seam::stages
