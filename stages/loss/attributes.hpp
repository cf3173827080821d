/// Stage `loss.attributes`: which of many attributes an image has; each image has only a few.
#pragma once

#include <seam/loss.hpp>

#include <optional>
#include <string_view>

namespace seam::stages {

/// The mean over known labels of the weighted binary cross entropy
///
///     -2 ((1 - p) y log σ(x) + p (1 - y) log(1 - σ(x)))
///
/// with p = `positive_share`: positive and negative labels have the same total weight, and 1 each
/// if there are equally many. `labels` are u8 as in field::attributes: 2 is unknown. Returns 0 if
/// no label is known.
[[nodiscard]] Tensor attribute_loss(const Tensor& logits, const Tensor& labels,
                                    double positive_share);

class Attributes final : public Loss {
 public:
  static constexpr std::string_view name = "loss.attributes";

  void declare(Declaration& d) override;

 private:
  Tensor compute(const Packet& packet, Context& context) override;

  std::optional<double> positive_share_;
};

}  // namespace seam::stages
