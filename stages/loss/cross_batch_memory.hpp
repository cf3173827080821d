/// Stage `loss.cross_batch_memory`: pairs of a batch with the embeddings of the batches before it.
///
///     embedding [N,E], items [N] ──► loss
///                    │  ▲
///                    ▼  │ compared with
///     memory [M,E]: the last M rows that were trained on, without a gradient
///
///     S = unit(batch) unit(memory)ᵀ ──► positives: 1 - S      negatives: max(0, S - margin)
///     loss = mean of the positives above 0 + mean of the negatives above 0
///
/// Wang, Zhang, Huang, Scott, "Cross-Batch Memory for Embedding Learning", CVPR 2020, with its
/// contrastive loss on similarities; averaged as by pytorch-metric-learning's CrossBatchMemory
/// around ContrastiveLoss(pos_margin=1, neg_margin=margin, distance=CosineSimilarity()).
#pragma once

#include <seam/loss.hpp>

#include "stages/loss/base/measured_loss.hpp"

namespace seam::stages {

/// The loss, and the pairs with a loss above 0 per row. `embedding` [N,E]; `memory` [M,E], the last
/// N rows of which are the batch's, in order: no row is compared with itself. Rows of `memory` with
/// one label show the same item. A kind without a pair above 0 counts as 0; an embedding that is
/// not finite makes the loss NaN. Differentiable in the embedding only.
[[nodiscard]] MeasuredLoss memory_loss(const Tensor& embedding, const Tensor& memory,
                                       const std::vector<std::int64_t>& labels, double margin);

class CrossBatchMemory final : public Loss {
 public:
  static constexpr std::string_view name = "loss.cross_batch_memory";

  void declare(Declaration& d) override;
  void open(Context& context) override;
  void save(Archive& archive) const override;
  void load(const Archive& archive) override;
  void batch_accepted() override;

 private:
  /// Oldest rows first.
  struct Memory {
    Tensor rows;  ///< [M,E]; undefined while there are none
    std::vector<std::string> items;
  };

  Tensor compute(const Packet& packet, Context& context) override;
  /// The memory after the batch is accepted: its rows, and as many earlier ones as fit.
  [[nodiscard]] Memory with(const Tensor& embedding, const std::vector<std::string>& items) const;

  std::int64_t capacity_ = 1024;
  std::int64_t start_ = 0;
  double margin_ = 0.5;
  Memory memory_;
  std::int64_t batches_ = 0;    ///< that were trained on
  std::optional<Memory> next_;  ///< of the last training batch, until it is accepted
};

}  // namespace seam::stages
