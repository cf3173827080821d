/// Base class of losses over the pairs within a batch: rows of one item are positives of each
/// other.
///
///     embedding [N,E], items [N] ──► labels [N] ──► of(packet, labels) ──► loss
#pragma once

#include <seam/loss.hpp>

#include "stages/counted.hpp"
#include "stages/diverged.hpp"
#include "stages/loss/base/item_labels.hpp"
#include "stages/loss/base/measured_loss.hpp"

namespace seam::stages {

/// `values` are computed from the embeddings. Throws seam::Error if one is not finite; waits for
/// the device.
inline void check_finite(const Tensor& values) {
  if (torch::isfinite(values).all().item<bool>()) return;
  throw Error(std::string("the embeddings of this batch are not finite; ") + diverged_remedy);
}

class BatchLoss : public Loss {
 protected:
  /// Declares the fields and what every loss declares; call it at the end.
  void declare_batch_loss(Declaration& d) {
    d.needs(field::embedding);
    d.needs(field::items).doc("rows of one item are positives of each other");
    d.accepts(field::origins).doc("to name an image without an item");
    d.headline("loss", Better::lower);
    declare_loss(d);
  }

  /// `labels`, one per row, are equal for rows of one item; some row has a positive and a negative.
  [[nodiscard]] virtual MeasuredLoss of(const Packet& packet,
                                        const std::vector<std::int64_t>& labels) = 0;

 private:
  Tensor compute(const Packet& packet, Context& context) final {
    const std::vector<std::int64_t> labels = item_labels(packet);
    check_pairs(labels);
    // In training the loss is NaN, and the optimizer rejects the batch without another wait for the
    // device.
    if (!context.training()) check_finite(packet.get(field::embedding));
    const MeasuredLoss result = of(packet, labels);
    for (const auto& [metric, value] : result.measured) measure(metric, value);
    return result.loss;
  }
};

}  // namespace seam::stages
