/// Stage `loss.proxy_anchor`: compares the pictures of a batch with one learnt proxy an item.
///
///     embedding [N,E], items [N] ──► loss            proxies [items, dimensions]: weights
#pragma once

#include <seam/loss.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "stages/loss/item_proxies.hpp"
#include "stages/loss/proxy_anchor_loss.hpp"

namespace seam::stages {

class ProxyAnchor final : public Loss {
 public:
  static constexpr std::string_view name = "loss.proxy_anchor";

  void declare(Declaration& d) override;
  void open(Context& context) override;
  void save(Archive& archive) const override;
  void load(const Archive& archive) override;

  std::vector<NamedWeight> weights() override { return {{"proxies", proxies_, rate_scale_}}; }
  void batch_accepted() override;

 protected:
  Tensor compute(const Packet& packet, Context& context) override;

 private:
  /// Once, in the second flow that trains: a whole list has been seen.
  void warn_of_proxies_left(const Context& context);

  ProxyAnchorOptions options_;
  std::int64_t items_ = 0;
  std::int64_t dimensions_ = 0;
  double rate_scale_ = 100;
  Tensor proxies_;
  ItemProxies of_items_;
  std::optional<std::int64_t> first_flow_;  // trainings before the first one with this stage
  bool warned_ = false;
};

}  // namespace seam::stages
