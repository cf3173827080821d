/// Stage `loss.margin`: classification by the lengths of class capsules.
///
///     L = T max(0, m+ - |v|)² + λ (1 - T) max(0, |v| - m-)²,  summed over classes
///
/// Sabour, Frosst, Hinton, "Dynamic routing between capsules", NIPS 2017, equation 4.
#pragma once

#include <algorithm>

#include <torch/types.h>

#include "stages/loss/base/class_loss.hpp"

namespace seam::stages {

struct MarginSettings {
  double present = 0.9;  ///< m+: the capsule of the category should be at least this long
  double absent = 0.1;   ///< m-: the others should be at most this long
  double down = 0.5;     ///< λ: weight of the others
};

/// The mean over rows of the sum over classes; lengths are [N,K], labels i64[N].
[[nodiscard]] inline Tensor margin_loss(const Tensor& lengths, const Tensor& labels,
                                        const MarginSettings& settings) {
  const Tensor present = torch::one_hot(labels, lengths.size(1)).to(lengths.scalar_type());
  const Tensor too_short = (settings.present - lengths).clamp_min(0).square();
  const Tensor too_long = (lengths - settings.absent).clamp_min(0).square();
  return (present * too_short + settings.down * (1 - present) * too_long).sum(1).mean();
}

class Margin final : public ClassLoss {
 public:
  static constexpr std::string_view name = "loss.margin";

  void declare(Declaration& d) override {
    d.doc(
        "Margin loss of class capsules (Sabour et al. 2017): the capsule of an image's category "
        "should be long and the others short. Summed over classes, averaged over a batch.");
    d.parameter("present", settings_.present,
                "length from which the category's capsule has no loss")
        .range(0, 1e6);
    d.parameter("absent", settings_.absent, "length up to which the other capsules have no loss")
        .range(0, 1e6);
    d.parameter("down_weight", settings_.down, "weight of the other capsules").range(0, 1e6);
    d.parameter("top", top_,
                "the k of the metrics accuracy (1), accuracy_3 and so on: fraction of images whose "
                "category is among the k longest capsules")
        .range(1, 1e6);
    declare_category_loss(d, field::class_lengths);
  }

  void open(Context& context) override {
    ClassLoss::open(context);
    std::ranges::sort(top_);
    top_.erase(std::unique(top_.begin(), top_.end()), top_.end());
    if (settings_.present > settings_.absent) return;
    throw Error("`present` must be larger than `absent`: a capsule would have to be longer than " +
                    std::to_string(settings_.present) +
                    " and those of the other classes shorter than " +
                    std::to_string(settings_.absent),
                Fault::configuration);
  }

 private:
  Tensor compute(const Packet& packet, Context& context) override {
    const Tensor& lengths = packet.get(field::class_lengths);
    const Tensor labels = labels_of(packet, lengths, context, {"the margin loss", "capsules"});
    if (!top_.empty() && top_.back() >= lengths.size(1)) {
      throw Error("`top` contains " + std::to_string(top_.back()) + ", but there are " +
                      std::to_string(lengths.size(1)) +
                      " classes: every image would count as correct; use smaller numbers",
                  Fault::configuration);
    }
    for (const std::int64_t k : top_) {
      const Tensor longest = std::get<1>(lengths.detach().topk(k, 1));
      measure(k == 1 ? "accuracy" : "accuracy_" + std::to_string(k),
              (longest == labels.unsqueeze(1)).any(1).to(torch::kFloat32).mean());
    }
    return margin_loss(lengths, labels, settings_);
  }

  MarginSettings settings_;
  std::vector<std::int64_t> top_ = {1};
};

}  // namespace seam::stages
