/// Stage `loss.attributes`: which of many attributes an image has; each image has only a few.
#pragma once

#include <torch/types.h>
#include <seam/loss.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stages/landmark_tensors.hpp"
#include "stages/loss/base/rows.hpp"
#include "stages/nn/fixed_parts.hpp"

namespace seam::stages {

inline constexpr std::int64_t unknown_attribute = 2;  ///< in field::attributes

/// The mean over known labels of the weighted binary cross entropy
///
///     -2 ((1 - p) y log σ(x) + p (1 - y) log(1 - σ(x)))
///
/// with p = `positive_share`: positive and negative labels have the same total weight, and 1 each
/// if there are equally many. `labels` are u8 as in field::attributes: 2 is unknown. Returns 0 if
/// no label is known.
[[nodiscard]] inline Tensor attribute_loss(const Tensor& logits, const Tensor& labels,
                                           double positive_share) {
  const Tensor known = labels != unknown_attribute;
  const Tensor positive = labels == 1;
  // log σ(x) = -softplus(-x)
  // In parts, since LibTorch's softplus rounds differently at the end of a thread's share.
  const auto softplus = [](const Tensor& x) {
    return nn::by_parts(x, [](const Tensor& rows) { return torch::softplus(rows); });
  };
  const Tensor yes = softplus(-logits) * (2 * (1 - positive_share));
  const Tensor no = softplus(logits) * (2 * positive_share);
  const Tensor each = torch::where(positive, yes, no).masked_fill(known.logical_not(), 0);
  return each.sum(1).sum() / known.sum().clamp_min(1);
}

class Attributes final : public Loss {
 public:
  static constexpr std::string_view name = "loss.attributes";

  void declare(Declaration& d) override {
    d.doc(
        "Binary cross entropy between the sigmoid of a network's logits and the attributes of each "
        "image, with rare labels weighted as much as frequent ones; averaged over the known labels "
        "of a batch.");
    d.parameter("positive_share", positive_share_,
                "fraction of the training set's known labels that are positive, as logged by "
                "dataset.landmarks; default: that of each batch")
        .range(1e-9, 1 - 1e-9);
    d.needs(field::attribute_logits);
    d.needs(field::true_attributes).doc("batch: carry = [\"attributes as true_attributes\"]");
    d.accepts(field::origins).doc("to name a rejected image");
    d.headline("loss", Better::lower);
    declare_loss(d);
  }

 private:
  static void check_labels(const Tensor& labels, const Packet& packet) {
    const Tensor wrong = (labels > unknown_attribute).nonzero();
    if (wrong.size(0) == 0) return;
    const auto row = wrong[0][0].item<std::int64_t>();
    const auto attribute = wrong[0][1].item<std::int64_t>();
    throw Error(row_name(packet, row) + ": attribute " + std::to_string(attribute + 1) +
                " has the label " + std::to_string(labels[row][attribute].item<std::int64_t>()) +
                "; it must be 0 (no), 1 (yes) or 2 (unknown)");
  }

  Tensor compute(const Packet& packet, Context& /*context*/) override {
    const Tensor& logits = packet.get(field::attribute_logits);
    const Tensor labels = packet.get(field::true_attributes).to(logits.device());
    check_rows(logits.size(0));
    if (logits.size(1) != labels.size(1)) {
      throw Error("the model predicts " + std::to_string(logits.size(1)) +
                      " attributes, but the images have " + std::to_string(labels.size(1)) +
                      "; set the model's `attributes` to that",
                  Fault::configuration);
    }
    check_labels(labels, packet);
    const Tensor known = labels != unknown_attribute;
    const Tensor positive = labels == 1;
    const double count = known.sum().item<double>();
    const double positives = positive.sum().item<double>();
    if (positives > 0) {
      measure("recall",
              (logits.detach() > 0).logical_and(positive).sum().to(torch::kFloat64) / positives);
    }
    // If a batch lacks one kind of label, its rarity is unknown: the labels get equal weights.
    const bool both_kinds = positives > 0 && positives < count;
    const double share = positive_share_.value_or(both_kinds ? positives / count : 0.5);
    return attribute_loss(logits, labels, share);
  }

  std::optional<double> positive_share_;
};

}  // namespace seam::stages
