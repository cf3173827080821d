/// Stage `loss.arcface`: classification by item with an angular margin.
///
///     embedding [N,E], items [N] ──► loss            proxies [items, dimensions]: weights
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "stages/loss/arcface_loss.hpp"
#include "stages/loss/proxy_loss.hpp"

namespace seam::stages {

class Arcface final : public ProxyLoss {
 public:
  static constexpr std::string_view name = "loss.arcface";

  Arcface() : ProxyLoss(1) {}
  void declare(Declaration& d) override;

 private:
  Tensor compare(const Tensor& embedding, const Tensor& proxies,
                 const std::vector<std::int64_t>& labels) override;

  ArcfaceOptions options_;
};

}  // namespace seam::stages
