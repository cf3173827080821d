#include "stages/retrieval/gallery_index.hpp"

#include <algorithm>
#include <numeric>
#include <seam/error.hpp>

namespace seam::stages {

void GalleryIndex::clear() {
  *this = GalleryIndex();
}

void GalleryIndex::add(const GalleryBatch& batch) {
  if (built()) throw Error("the gallery is complete; clear it first", Fault::internal);
  const bool first = rows_.empty();
  for (const auto& [mask, vectors] : batch.vectors) {
    if (vectors.dim() != 2 || vectors.size(0) != static_cast<std::int64_t>(batch.rows.size()) ||
        (!first && !vectors_.contains(mask))) {
      throw Error("a batch of " + std::to_string(batch.rows.size()) +
                      " gallery images has vectors of another count or mask",
                  Fault::internal);
    }
  }
  if (!first && batch.vectors.size() != vectors_.size()) {
    throw Error("a batch of gallery images lacks the vectors of a mask", Fault::internal);
  }
  for (const auto& [mask, vectors] : batch.vectors) {
    std::vector<torch::Tensor>& parts = vectors_[mask];
    if (!parts.empty() && parts.front().size(1) != vectors.size(1)) {
      throw Error("gallery embeddings have " + std::to_string(parts.front().size(1)) + " and " +
                  std::to_string(vectors.size(1)) + " dimensions; they cannot be compared");
    }
    parts.push_back(vectors.detach().to(torch::kCPU, torch::kFloat32, false, true));
  }
  rows_.insert(rows_.end(), batch.rows.begin(), batch.rows.end());
}

void GalleryIndex::build(Metric metric) {
  if (rows_.empty()) throw Error("the gallery is empty: no image reached it");
  const bool without_ids = std::ranges::all_of(rows_, [](const auto& row) { return row.id < 0; });
  if (without_ids) {
    for (std::int64_t row = 0; row < size(); ++row) rows_[row].id = row;
  }
  std::vector<std::int64_t> order(rows_.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [this](std::int64_t row) { return rows_[row].id; });

  std::vector<GalleryRow> sorted;
  sorted.reserve(rows_.size());
  for (const std::int64_t row : order) {
    if (!sorted.empty() && sorted.back().id == rows_[row].id) {
      throw Error("two gallery images have index " + std::to_string(rows_[row].id) + ": " +
                  sorted.back().origin.text() + " and " + rows_[row].origin.text() +
                  "; a gallery holds each image of one list once");
    }
    sorted.push_back(std::move(rows_[row]));
  }
  rows_ = std::move(sorted);

  const NameOfRow name = [this](std::int64_t row) { return rows_[row].origin.text(); };
  const torch::Tensor permutation = torch::tensor(order, torch::kInt64);
  for (auto& [mask, parts] : vectors_) {
    const torch::Tensor vectors = torch::cat(parts).index_select(0, permutation);
    parts.clear();
    indexes_.emplace(mask, ExactIndex(vectors, mask == Mask::none ? metric : Metric::cosine, name));
  }
  vectors_.clear();
  for (const GalleryRow& row : rows_) {
    const auto [entry, fresh] =
        numbers_.try_emplace(row.item, static_cast<std::int64_t>(count_.size()));
    if (fresh) count_.push_back(0);
    ++count_[entry->second];
    item_of_row_.push_back(entry->second);
  }
}

std::optional<std::int64_t> GalleryIndex::item_number(const std::string& item) const {
  const auto found = numbers_.find(item);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::int64_t> GalleryIndex::row_of_id(std::int64_t id) const {
  const auto found = std::ranges::lower_bound(rows_, id, {}, &GalleryRow::id);
  if (found == rows_.end() || found->id != id) return std::nullopt;
  return found - rows_.begin();
}

}  // namespace seam::stages
