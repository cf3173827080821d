#include "stages/retrieval/gallery_index.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <seam/error.hpp>
#include <seam/tensor.hpp>

namespace seam::stages {
namespace {

const std::string vectors_of = "vectors under mask ";
constexpr char between_texts = '\0';

bool have_unit_length(const torch::Tensor& vectors) {
  constexpr double rounding = 1e-4;
  return (vectors.square().sum(1) - 1).abs().le(rounding).all().item<bool>();
}

/// Texts one behind the other, each with an end of its own.
std::string packed(const std::vector<GalleryRow>& rows,
                   const std::function<std::string(const GalleryRow&)>& text) {
  std::string all;
  for (const GalleryRow& row : rows) all += text(row) + between_texts;
  return all;
}

std::vector<std::string> unpacked(const std::string& all) {
  std::vector<std::string> texts;
  for (std::size_t from = 0; from < all.size();) {
    const std::size_t end = all.find(between_texts, from);
    if (end == std::string::npos) throw Error("a list of texts of the saved gallery has no end");
    texts.push_back(all.substr(from, end - from));
    from = end + 1;
  }
  return texts;
}

torch::Tensor numbers_of(const std::vector<GalleryRow>& rows,
                         const std::function<std::int64_t(const GalleryRow&)>& number) {
  std::vector<std::int64_t> numbers;
  for (const GalleryRow& row : rows) numbers.push_back(number(row));
  return torch::tensor(numbers, torch::kInt64);
}

/// A saved tensor of any shape.
torch::Tensor saved_tensor(const Archive& archive, const std::string& name,
                           torch::ScalarType type) {
  torch::Tensor tensor = torch::empty(archive.get(name).shape, type);
  get_tensor(archive, name, tensor);
  return tensor;
}

}  // namespace

void GalleryIndex::clear() {
  std::vector<Mask> expected = std::move(expected_);
  *this = GalleryIndex();
  expected_ = std::move(expected);
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
    const bool by_angle = mask != Mask::none && have_unit_length(vectors);
    indexes_.emplace(mask, ExactIndex(vectors, by_angle ? Metric::cosine : metric, name));
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

void GalleryIndex::save(Archive& archive) const {
  if (!built()) return;
  archive.put("trainings", trainings_);
  archive.put("items", packed(rows_, [](const auto& row) { return row.item; }));
  archive.put("files", packed(rows_, [](const auto& row) {
                return row.origin.file ? *row.origin.file : std::string();
              }));
  archive.put("names", packed(rows_, [](const auto& row) { return row.origin.item; }));
  put_tensor(archive, "lines", numbers_of(rows_, [](const auto& row) { return row.origin.line; }));
  put_tensor(archive, "ids", numbers_of(rows_, [](const auto& row) { return row.id; }));
  put_tensor(archive, "categories",
             numbers_of(rows_, [](const auto& row) { return row.category; }));
  for (const auto& [mask, index] : indexes_) {
    put_tensor(archive, vectors_of + to_string(mask), index.vectors());
  }
}

void GalleryIndex::load(const Archive& archive, Metric metric) {
  clear();
  if (!archive.has("ids")) return;
  trainings_ = archive.integer("trainings");
  const std::vector<std::string> items = unpacked(archive.text("items"));
  const std::vector<std::string> files = unpacked(archive.text("files"));
  const std::vector<std::string> names = unpacked(archive.text("names"));
  const torch::Tensor lines = saved_tensor(archive, "lines", torch::kInt64);
  const torch::Tensor ids = saved_tensor(archive, "ids", torch::kInt64);
  const torch::Tensor categories = saved_tensor(archive, "categories", torch::kInt64);
  const std::size_t count = items.size();
  const auto same = [&](std::int64_t size) { return size == static_cast<std::int64_t>(count); };
  if (files.size() != count || names.size() != count || !same(lines.numel()) ||
      !same(ids.numel()) || !same(categories.numel())) {
    throw Error("the saved gallery has another number of items, names and ids");
  }
  GalleryBatch batch;
  std::shared_ptr<const std::string> file;  // shared by the rows of a list
  for (std::size_t row = 0; row < count; ++row) {
    if (!file || *file != files[row]) file = std::make_shared<const std::string>(files[row]);
    const auto at = static_cast<std::int64_t>(row);
    batch.rows.push_back({ids.data_ptr<std::int64_t>()[at],
                          items[row],
                          categories.data_ptr<std::int64_t>()[at],
                          {file, lines.data_ptr<std::int64_t>()[at], names[row]}});
  }
  for (const Mask mask : {Mask::none, Mask::predicted, Mask::ground_truth}) {
    const std::string name = vectors_of + to_string(mask);
    if (archive.has(name)) batch.vectors[mask] = saved_tensor(archive, name, torch::kFloat32);
  }
  add(batch);
  build(metric);
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
