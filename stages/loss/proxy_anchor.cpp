#include "stages/loss/proxy_anchor.hpp"

namespace seam::stages {

void ProxyAnchor::declare(Declaration& d) {
  d.doc(
      "Proxy-anchor loss (Kim et al. 2020): each item of the training list has a learned proxy; by "
      "cosine similarity, images of the item are pulled towards it and all other images of the "
      "batch are pushed away.");
  declare_proxies(d);
  d.parameter("margin", options_.margin,
              "images of an item should be more similar to its proxy than this, other images less "
              "than minus this")
      .range(0, 2);
  d.parameter("alpha", options_.alpha, "sharpness of the weights of pairs").range(1e-6, 1e6);
  declare_proxy_loss(d);
}

Tensor ProxyAnchor::compare(const Tensor& embedding, const Tensor& proxies,
                            const std::vector<std::int64_t>& labels) {
  const ProxyAnchorLoss result = proxy_anchor_loss(embedding, proxies, labels, options_);
  measure("positive_similarity", result.positive_similarity);
  return result.loss;
}

}  // namespace seam::stages
