/// Base class of losses with one learned vector per item: weights, state and their assignment.
///
///     embedding [N,E], items [N] ──► compare(embedding, proxies, labels) ──► loss
///                                    proxies [items, dimensions]: weights
#pragma once

#include <seam/loss.hpp>
#include <seam/reference.hpp>

#include "stages/loss/base/item_proxies.hpp"
#include "stages/loss/base/measured_loss.hpp"
#include "stages/served_items.hpp"

namespace seam::stages {

class ProxyLoss : public Loss {
 public:
  void open(Context& context) override;
  void save(Archive& archive) const override;
  void load(const Archive& archive) override;

  std::vector<NamedWeight> weights() override { return {{"proxies", proxies_, rate_scale_}}; }
  void batch_accepted() override;

 protected:
  /// `rate_scale` is the default of that parameter.
  explicit ProxyLoss(double rate_scale) : rate_scale_(rate_scale) {}

  /// Declares `items` and `dimensions`; call it before the loss's own parameters.
  void declare_proxies(Declaration& d);
  /// Declares `rate_scale`, the fields and what every loss declares; call it at the end.
  void declare_proxy_loss(Declaration& d);

  /// The loss of rows [N,dimensions]; a row's label is its item's proxy.
  [[nodiscard]] virtual MeasuredLoss compare(const Tensor& embedding, const Tensor& proxies,
                                             const std::vector<std::int64_t>& labels) = 0;

 private:
  Tensor compute(const Packet& packet, Context& context) final;
  /// `items`, or the number of items of the data sets before the loss.
  [[nodiscard]] std::int64_t count_items(const Context& context) const;
  /// Warns once, in the second training flow: by then a whole list has been seen.
  void warn_of_proxies_left(const Context& context);

  std::optional<std::int64_t> given_items_;
  Refs<ServedItems> served_;
  std::int64_t items_ = 0;  // from open() on
  std::int64_t dimensions_ = 0;
  double rate_scale_;
  Tensor proxies_;
  ItemProxies of_items_;
  std::optional<std::int64_t>
      first_flow_;  // number of training flows before the first one with this stage
  bool warned_ = false;
};

}  // namespace seam::stages
