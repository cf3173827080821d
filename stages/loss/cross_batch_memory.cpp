#include "stages/loss/cross_batch_memory.hpp"

#include <torch/types.h>

#include <algorithm>
#include <utility>

#include "stages/counted.hpp"
#include "stages/diverged.hpp"
#include "stages/loss/item_labels.hpp"
#include "stages/loss/memory_loss.hpp"
#include "stages/packed_texts.hpp"

namespace seam::stages {

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
  check_items(items, packet.has(field::origins) ? &packet.get(field::origins) : nullptr);
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
  } else if (!torch::isfinite(embedding).all().item<bool>()) {
    // In training the loss is NaN, and the optimizer rejects the batch without another wait for the
    // device.
    throw Error(std::string("the embeddings of this batch are not finite; ") + diverged_remedy);
  }
  const Tensor labels = torch::tensor(item_labels(compared.items, nullptr), torch::kInt64);
  const MemoryLoss result =
      memory_loss(embedding, compared.rows, labels.to(embedding.device()), margin_);
  measure("positive_pairs", result.positive_pairs);
  measure("negative_pairs", result.negative_pairs);
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

}  // namespace seam::stages
