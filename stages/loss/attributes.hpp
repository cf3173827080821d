/// Stage `loss.attributes`: which of many attributes a picture has, of which each has few.
#pragma once

#include <seam/loss.hpp>

#include <optional>
#include <string_view>

namespace seam::stages {

/// The mean over known labels of the weighted binary cross entropy
///
///     -2 ((1 - p) y log σ(x) + p (1 - y) log(1 - σ(x)))
///
/// with p = `positive_share`: labels of both kinds weigh the same in the whole, and 1 each where
/// they are equally many. `labels` are u8 as field::attributes has them: 2 is unknown. 0 where
/// nothing is known.
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
