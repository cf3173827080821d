#include "stages/loss/cross_batch_memory.hpp"

#include <algorithm>

#include <torch/types.h>

#include "stages/counted.hpp"
#include "stages/loss/base/batch_loss.hpp"
#include "stages/loss/base/item_labels.hpp"
#include "stages/nn/embedding.hpp"
#include "stages/packed_texts.hpp"

namespace seam::stages {
namespace {

/// How many are above 0.
Tensor active(const Tensor& losses) {
  return (losses.detach() > 0).sum();
}

/// Row by row first: the sum then does not depend on the number of threads.
Tensor mean_of_active(const Tensor& losses, const Tensor& count) {
  return losses.sum(1).sum() / count.clamp_min(1);
}

}  // namespace

void CrossBatchMemory::declare(Declaration& d) {
  d.doc(
      "Cross-batch memory (Wang et al. 2020): a contrastive loss on the cosine similarities "
      "between each row of a batch and the rows of this batch and of earlier ones, whose "
      "embeddings are remembered. Outside of training, and before `start`, only pairs within the "
      "batch are used.");
  d.parameter("memory", capacity_,
              "number of rows to remember, including those of the current batch")
      .range(1, 1e8);
  d.parameter("start", start_,
              "number of training batches before the memory is used, because early embeddings are "
              "soon out of date")
      .range(0, 1e9);
  d.parameter("margin", margin_, "similarity below which pairs of different items have no loss")
      .range(-1, 1);
  d.needs(field::embedding);
  d.needs(field::items).doc("rows of one item are positives of each other");
  d.accepts(field::origins).doc("to name an image without an item");
  d.keeps_state();
  d.headline("loss", Better::lower);
  declare_loss(d);
}

void CrossBatchMemory::open(Context& /*context*/) {
  memory_ = {};
  next_.reset();
  batches_ = 0;
}

CrossBatchMemory::Memory CrossBatchMemory::with(const Tensor& embedding,
                                                const std::vector<std::string>& items) const {
  if (!memory_.rows.defined()) return {embedding.clone(), items};
  if (memory_.rows.size(1) != embedding.size(1)) {
    throw Error("embeddings have " + std::to_string(embedding.size(1)) +
                    " values, but the remembered ones have " +
                    std::to_string(memory_.rows.size(1)) +
                    "; start a new run for a model with a different width",
                Fault::configuration);
  }
  const std::int64_t old = memory_.rows.size(0);
  const std::int64_t kept = std::min(old, capacity_ - embedding.size(0));
  Memory all{
      torch::cat({memory_.rows.narrow(0, old - kept, kept).to(embedding.device()), embedding}),
      {memory_.items.end() - kept, memory_.items.end()}};
  all.items.insert(all.items.end(), items.begin(), items.end());
  return all;
}

Tensor CrossBatchMemory::compute(const Packet& packet, Context& context) {
  next_.reset();
  const Tensor& embedding = packet.get(field::embedding);
  const std::vector<std::string>& items = packet.get(field::items);
  check_items(packet);
  if (items.empty()) throw Error("the batch has no rows, so there are no pairs");
  if (embedding.dim() != 2 || embedding.size(0) != static_cast<std::int64_t>(items.size())) {
    throw Error("'embedding' must have a row for each of " + counted(items.size(), "item"),
                Fault::internal);
  }
  Memory compared{embedding.detach(), items};
  if (context.training()) {
    if (embedding.size(0) > capacity_) {
      throw Error("the batch has " + counted(items.size(), "row") + ", but `memory` is " +
                      std::to_string(capacity_) + "; it must hold at least one batch",
                  Fault::configuration);
    }
    if (batches_ >= start_) compared = with(compared.rows, items);
    next_ = batches_ >= start_ ? compared : memory_;
  } else {
    // In training the loss is NaN, and the optimizer rejects the batch without another wait for the
    // device.
    check_finite(embedding);
  }
  const MeasuredLoss result =
      memory_loss(embedding, compared.rows, item_labels(compared.items), margin_);
  for (const auto& [metric, value] : result.measured) measure(metric, value);
  measure("remembered", static_cast<double>(compared.rows.size(0) - embedding.size(0)));
  return result.loss;
}

void CrossBatchMemory::batch_accepted() {
  Loss::batch_accepted();
  if (!next_) return;
  memory_ = *std::exchange(next_, std::nullopt);
  ++batches_;
}

void CrossBatchMemory::save(Archive& archive) const {
  archive.put("batches", batches_);
  if (!memory_.rows.defined()) return;
  put_tensor(archive, "memory", memory_.rows);
  archive.put("items", packed_texts(memory_.items, [](const std::string& item) { return item; }));
}

void CrossBatchMemory::load(const Archive& archive) {
  Memory loaded;
  if (archive.has("memory")) {
    const std::vector<std::int64_t>& shape = archive.get("memory", "f32").shape;
    loaded.items = unpacked_texts(archive.text("items"), "memory");
    if (shape.size() != 2 || shape[0] != static_cast<std::int64_t>(loaded.items.size())) {
      throw Error(
          "the saved memory has different numbers of embeddings and items; the checkpoint is "
          "damaged");
    }
    if (shape[0] > capacity_) {
      throw Error("the checkpoint remembers " + counted(shape[0], "row") + ", but `memory` is " +
                      std::to_string(capacity_) +
                      "; set it as in the run that wrote the checkpoint",
                  Fault::configuration);
    }
    loaded.rows = saved_tensor(archive, "memory");
  }
  batches_ = archive.integer("batches");
  memory_ = std::move(loaded);
  next_.reset();
}

MeasuredLoss memory_loss(const Tensor& embedding, const Tensor& memory,
                         const std::vector<std::int64_t>& labels, double margin) {
  const std::int64_t rows = embedding.size(0);
  const std::int64_t before = memory.size(0) - rows;
  const Tensor similarity = nn::linear(nn::unit(embedding), nn::unit(memory.detach()));
  const Tensor label = torch::tensor(labels, torch::kInt64).to(embedding.device());
  const Tensor same = label.narrow(0, before, rows).unsqueeze(1) == label.unsqueeze(0);
  const Tensor self = torch::eye(rows, same.options());
  const Tensor others = torch::cat({torch::ones({rows, before}, self.options()), ~self}, 1);
  const Tensor positives = (1 - similarity).clamp_min(0).masked_fill(~(same & others), 0);
  const Tensor negatives = (similarity - margin).clamp_min(0).masked_fill(same, 0);
  const Tensor positive_pairs = active(positives);
  const Tensor negative_pairs = active(negatives);
  const auto of_a_row = [rows](const Tensor& count) {
    return count.to(torch::kFloat64) / static_cast<double>(rows);
  };
  return {
      mean_of_active(positives, positive_pairs) + mean_of_active(negatives, negative_pairs),
      {{"positive_pairs", of_a_row(positive_pairs)}, {"negative_pairs", of_a_row(negative_pairs)}}};
}

}  // namespace seam::stages
