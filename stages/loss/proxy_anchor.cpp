#include "stages/loss/proxy_anchor.hpp"

namespace seam::stages {

void ProxyAnchor::declare(Declaration& d) {
  d.doc(
      "Proxy-anchor loss (Kim et al. 2020): each item of the training list has a learnt proxy, "
      "near which its pictures should be and far from which all others of a batch, by cosine "
      "similarity.");
  declare_proxies(d);
  d.parameter("margin", options_.margin,
              "pictures of an item should be more similar to its proxy than this, others less than "
              "minus this")
      .range(0, 2);
  d.parameter("alpha", options_.alpha, "how sharply pairs are weighed").range(1e-6, 1e6);
  declare_proxy_loss(d);
}

Tensor ProxyAnchor::compare(const Tensor& embedding, const Tensor& proxies,
                            const std::vector<std::int64_t>& labels) {
  const ProxyAnchorLoss result = proxy_anchor_loss(embedding, proxies, labels, options_);
  measure("positive_similarity", result.positive_similarity);
  return result.loss;
}

}  // namespace seam::stages
