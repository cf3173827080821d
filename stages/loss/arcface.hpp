/// Stage `loss.arcface`: classification by the angle to one learned centre per item, with the angle
/// to the row's own centre increased by a margin.
///
///     cos θ = e cᵀ ──► own class: cos(θ + m) ──► softmax cross entropy of s times these
///
/// Deng, Guo, Xue, Zafeiriou, "ArcFace: Additive Angular Margin Loss for Deep Face Recognition",
/// CVPR 2019, equation 3. If θ + m exceeds π, the cosine would grow again; it is then replaced by
/// cos θ - m sin m, as in the authors' code.
#pragma once

#include <torch/nn/functional/loss.h>
#include <torch/types.h>

#include <cmath>
#include <numbers>

#include "stages/loss/base/item_labels.hpp"
#include "stages/loss/base/measured_loss.hpp"
#include "stages/loss/base/proxy_loss.hpp"
#include "stages/nn/embedding.hpp"

namespace seam::stages {

struct ArcfaceOptions {
  double margin = 0.5;  ///< m, in radians
  double scale = 64;    ///< s
};

/// The loss, the mean cosine of a row and its centre, and the fraction of rows whose nearest centre
/// is their own. `embedding` [N,E] and `centres` [K,E], of one type and device; neither needs unit
/// length. `labels`, one per row, are row numbers of `centres`. Differentiable in both;
/// bit-identical for any number of threads. Values that are not finite make the loss NaN. Throws
/// seam::Error for no rows, for a different number of labels and for a label without a centre.
[[nodiscard]] inline MeasuredLoss arcface_loss(const Tensor& embedding, const Tensor& centres,
                                               const std::vector<std::int64_t>& labels,
                                               const ArcfaceOptions& options) {
  check_proxy_labels(labels, embedding.size(0), centres.size(0));
  const Tensor cosines = nn::linear(nn::unit(embedding), nn::unit(centres));
  const Tensor label = torch::tensor(labels, torch::kInt64).to(embedding.device()).unsqueeze(1);
  const Tensor own = cosines.gather(1, label);
  // cos(θ + m) without acos, whose slope at 1 is infinite; so is the root's at 0.
  constexpr double least = 1e-12;
  const Tensor sine = (1 - own.square()).clamp_min(least).sqrt();
  const Tensor harder = own * std::cos(options.margin) - sine * std::sin(options.margin);
  const Tensor too_far = own < std::cos(std::numbers::pi - options.margin);
  const Tensor target =
      torch::where(too_far, own - options.margin * std::sin(options.margin), harder);
  const Tensor logits = cosines.scatter(1, label, target) * options.scale;
  const Tensor plain = cosines.detach();
  return {torch::nn::functional::cross_entropy(logits, label.squeeze(1)),
          {{"positive_similarity", own.detach().mean()},
           {"accuracy", (plain.argmax(1, true) == label).to(torch::kFloat32).mean()}}};
}

class Arcface final : public ProxyLoss {
 public:
  static constexpr std::string_view name = "loss.arcface";

  Arcface() : ProxyLoss(1) {}
  void declare(Declaration& d) override {
    d.doc(
        "ArcFace (Deng et al. 2019): classification by item. The logits are the cosines between "
        "the embedding and one learned proxy per item; the angle to the correct proxy is increased "
        "by `margin`.");
    declare_proxies(d);
    d.parameter("margin", options_.margin,
                "added to the angle to the correct proxy; 0.5 is 28.6 degrees")
        .range(0, 3.14)
        .unit("rad");
    d.parameter("scale", options_.scale, "multiplies the cosines before the softmax")
        .range(1e-6, 1e6);
    declare_proxy_loss(d);
  }

 private:
  MeasuredLoss compare(const Tensor& embedding, const Tensor& proxies,
                       const std::vector<std::int64_t>& labels) override {
    return arcface_loss(embedding, proxies, labels, options_);
  }

  ArcfaceOptions options_;
};

}  // namespace seam::stages
