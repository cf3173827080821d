/// Stage `loss.cross_entropy`: classification by category or by item.
#pragma once

#include <torch/nn/functional/loss.h>
#include <torch/types.h>

#include "stages/loss/base/class_loss.hpp"

namespace seam::stages {

/// The mean over rows of the cross entropy between softmax(logits) and targets that are 1 - s at
/// the label plus s / K everywhere (Szegedy et al., "Rethinking the Inception Architecture", CVPR
/// 2016, section 7). `logits` is [N,K], `labels` i64[N].
[[nodiscard]] inline Tensor cross_entropy(const Tensor& logits, const Tensor& labels,
                                          double smoothing) {
  namespace F = torch::nn::functional;
  return F::cross_entropy(logits, labels, F::CrossEntropyFuncOptions().label_smoothing(smoothing));
}

class CrossEntropy final : public ClassLoss {
 public:
  static constexpr std::string_view name = "loss.cross_entropy";

  void declare(Declaration& d) override {
    d.doc(
        "Cross entropy between the softmax of a network's logits and the category, or the item, of "
        "each image; averaged over a batch.");
    d.parameter("from", from_, "field used as logits",
                {{"logits", From::logits}, {"class_lengths", From::class_lengths}});
    d.parameter("label_smoothing", smoothing_,
                "fraction of the target spread evenly over all classes")
        .range(0, 0.999);
    d.parameter("temperature", temperature_,
                "divides the logits; capsule lengths are between 0 and 1 and need a small "
                "temperature, such as 0.1")
        .range(1e-6, 1e6);
    declare_class_loss(d, field());
  }

 private:
  enum class From : std::uint8_t { logits, class_lengths };

  [[nodiscard]] const Field<Tensor>& field() const {
    return from_ == From::logits ? field::logits : field::class_lengths;
  }

  Tensor compute(const Packet& packet, Context& context) override {
    const Tensor& logits = packet.get(field());
    const Tensor labels = labels_of(packet, logits, context);
    measure("accuracy", (logits.detach().argmax(1) == labels).to(torch::kFloat32).mean());
    return cross_entropy(temperature_ == 1 ? logits : logits / temperature_, labels, smoothing_);
  }

  From from_ = From::logits;
  double smoothing_ = 0;
  double temperature_ = 1;
};

}  // namespace seam::stages
