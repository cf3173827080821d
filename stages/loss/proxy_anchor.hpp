/// Stage `loss.proxy_anchor`: compares the images of a batch with one learned proxy per item.
///
///     embedding [N,E], items [N] ──► loss            proxies [items, dimensions]: weights
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "stages/loss/proxy_anchor_loss.hpp"
#include "stages/loss/proxy_loss.hpp"

namespace seam::stages {

class ProxyAnchor final : public ProxyLoss {
 public:
  static constexpr std::string_view name = "loss.proxy_anchor";

  ProxyAnchor() : ProxyLoss(100) {}
  void declare(Declaration& d) override;

 private:
  Tensor compare(const Tensor& embedding, const Tensor& proxies,
                 const std::vector<std::int64_t>& labels) override;

  ProxyAnchorOptions options_;
};

}  // namespace seam::stages
