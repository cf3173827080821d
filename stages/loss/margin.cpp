#include "stages/loss/margin.hpp"

#include <torch/types.h>

#include <algorithm>
#include <string>

#include "stages/loss/cross_entropy_loss.hpp"

namespace seam::stages {
namespace {

/// The fraction of rows whose label is among the k longest.
Tensor accuracy(const Tensor& lengths, const Tensor& labels, std::int64_t k) {
  const Tensor longest = std::get<1>(lengths.topk(k, 1));
  return (longest == labels.unsqueeze(1)).any(1).to(torch::kFloat32).mean();
}

}  // namespace

void Margin::declare(Declaration& d) {
  d.doc(
      "Margin loss of class capsules (Sabour et al. 2017): the capsule of an image's category "
      "should be long and the others short. Summed over classes, averaged over a batch.");
  d.parameter("present", settings_.present, "length from which the category's capsule has no loss")
      .range(0, 1e6);
  d.parameter("absent", settings_.absent, "length up to which the other capsules have no loss")
      .range(0, 1e6);
  d.parameter("down_weight", settings_.down, "weight of the other capsules").range(0, 1e6);
  d.parameter("top", top_,
              "the k of the metrics accuracy (1), accuracy_3 and so on: fraction of images whose "
              "category is among the k longest capsules")
      .range(1, 1e6);
  d.needs(field::class_lengths);
  d.needs(field::categories).doc("the labels, from 0");
  d.accepts(field::origins).doc("to name an image whose label is rejected");
  d.headline("loss", Better::lower);
  declare_loss(d);
}

void Margin::open(Context& /*context*/) {
  std::ranges::sort(top_);
  top_.erase(std::unique(top_.begin(), top_.end()), top_.end());
  if (settings_.present > settings_.absent) return;
  throw Error("`present` must be larger than `absent`: a capsule would have to be longer than " +
                  std::to_string(settings_.present) +
                  " and those of the other classes shorter than " +
                  std::to_string(settings_.absent),
              Fault::configuration);
}

Tensor Margin::compute(const Packet& packet, Context& /*context*/) {
  const Tensor& lengths = packet.get(field::class_lengths);
  const std::vector<std::int64_t>& categories = packet.get(field::categories);
  if (categories.empty()) throw Error("the batch has no rows, and a mean needs one");
  check_labels(categories, lengths.size(1),
               packet.has(field::origins) ? &packet.get(field::origins) : nullptr,
               {"the margin loss", "capsules"});
  if (!top_.empty() && top_.back() >= lengths.size(1)) {
    throw Error("`top` contains " + std::to_string(top_.back()) + ", but there are " +
                    std::to_string(lengths.size(1)) +
                    " classes: every image would count as correct; use smaller numbers",
                Fault::configuration);
  }
  const Tensor labels = torch::tensor(categories, torch::kInt64).to(lengths.device());
  for (const std::int64_t k : top_) {
    measure(k == 1 ? "accuracy" : "accuracy_" + std::to_string(k),
            accuracy(lengths.detach(), labels, k));
  }
  return margin_loss(lengths, labels, settings_);
}

Tensor margin_loss(const Tensor& lengths, const Tensor& labels, const MarginSettings& settings) {
  const Tensor present = torch::one_hot(labels, lengths.size(1)).to(lengths.scalar_type());
  const Tensor too_short = (settings.present - lengths).clamp_min(0).square();
  const Tensor too_long = (lengths - settings.absent).clamp_min(0).square();
  return (present * too_short + settings.down * (1 - present) * too_long).sum(1).mean();
}

}  // namespace seam::stages
