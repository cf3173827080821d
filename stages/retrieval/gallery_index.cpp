#include "stages/retrieval/gallery_index.hpp"

#include <torch/utils.h>

#include <algorithm>
#include <numeric>

#include "stages/packed_texts.hpp"

namespace seam::stages {
namespace {

constexpr std::int64_t least_room = 64;
constexpr std::int64_t large = std::int64_t{64} << 20;    // bytes
constexpr std::int64_t separate = std::int64_t{1} << 30;  // bytes

/// The number of rows to allocate. Large matrices get a GiB at once: this is a separate mapping
/// even if freed memory is kept (pipeline/run/freed_memory.hpp), so it is returned to the system
/// when it becomes too small.
std::int64_t room_for(std::int64_t rows, std::int64_t dimensions) {
  const std::int64_t row_bytes =
      std::max<std::int64_t>(1, dimensions) * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t room = std::max(least_room, rows + rows / 2);
  return room * row_bytes < large ? room : std::max(room, separate / row_bytes + 1);
}

const std::string vectors_of = "vectors under mask ";

torch::Tensor numbers_of(const std::vector<GalleryRow>& rows,
                         const std::function<std::int64_t(const GalleryRow&)>& number) {
  std::vector<std::int64_t> numbers;
  for (const GalleryRow& row : rows) numbers.push_back(number(row));
  return torch::tensor(numbers, torch::kInt64);
}

}  // namespace

void GatheredRows::add(const torch::Tensor& vectors) {
  const torch::NoGradGuard no_grad;
  const std::int64_t count = vectors.size(0);
  if (!rows_.defined()) rows_ = torch::empty({0, vectors.size(1)}, torch::kFloat32);
  if (vectors.size(1) != dimensions()) {
    throw Error("vectors of " + std::to_string(vectors.size(1)) +
                    " dimensions cannot be collected with those of " + std::to_string(dimensions()),
                Fault::internal);
  }
  if (size_ + count > rows_.size(0)) {
    torch::Tensor larger =
        torch::empty({room_for(size_ + count, dimensions()), dimensions()}, torch::kFloat32);
    larger.narrow(0, 0, size_).copy_(rows_.narrow(0, 0, size_));
    rows_ = std::move(larger);
  }
  rows_.narrow(0, size_, count).copy_(vectors);
  size_ += count;
}

torch::Tensor GatheredRows::take_in_order(std::span<const std::int64_t> order) {
  std::vector<bool> named(static_cast<std::size_t>(size_));
  for (const std::int64_t row : order) {
    if (row < 0 || row >= size_ || named[static_cast<std::size_t>(row)]) break;
    named[static_cast<std::size_t>(row)] = true;
  }
  if (order.size() != named.size() || std::ranges::find(named, false) != named.end()) {
    throw Error("the order of " + std::to_string(size_) + " vectors must contain each of them once",
                Fault::internal);
  }
  const torch::NoGradGuard no_grad;
  torch::Tensor rows = rows_.defined() ? rows_.narrow(0, 0, size_) : torch::empty({0, 0});
  // Rows usually arrive in order, and a copy takes as much memory again.
  if (!std::ranges::is_sorted(order)) {
    rows = rows.index_select(0, torch::tensor(at::IntArrayRef(order.data(), order.size())));
  }
  *this = {};
  return rows;
}

void GalleryIndex::clear() {
  GalleryIndex fresh;
  fresh.expect(std::move(expected_), of_whole_);
  *this = std::move(fresh);
}

void GalleryIndex::expect(std::vector<Mask> masks, Metric of_whole) {
  expected_ = std::move(masks);
  of_whole_ = of_whole;
}

void GalleryIndex::add(const GalleryBatch& batch) {
  if (ready()) throw Error("the gallery is complete; clear it first", Fault::internal);
  const auto count = static_cast<std::int64_t>(batch.rows.size());
  const bool first = vectors_.empty();
  const auto refuse = [&](Mask mask, const std::string& what) {
    throw Error("a batch of " + std::to_string(count) + (count == 1 ? " image" : " images") +
                    " for the gallery has " + what + " under mask '" + to_string(mask) + "'",
                Fault::internal);
  };
  for (const auto& [mask, gathered] : vectors_) {
    if (!batch.vectors.contains(mask)) refuse(mask, "no vectors");
  }
  for (const auto& [mask, vectors] : batch.vectors) {
    if (vectors.dim() != 2) refuse(mask, "no matrix");
    if (vectors.size(0) != count) refuse(mask, std::to_string(vectors.size(0)) + " vectors");
    if (first) continue;
    const auto before = vectors_.find(mask);
    if (before == vectors_.end()) refuse(mask, "the first vectors");
    const std::int64_t width = before->second.dimensions();
    if (width == vectors.size(1)) continue;
    const auto described = [](const std::vector<GalleryRow>& rows, std::int64_t dimensions) {
      return (rows.empty() ? std::string("an empty batch") : rows.front().origin.text()) + " has " +
             std::to_string(dimensions);
    };
    throw Error(
        "the embeddings of a gallery must have the same number of dimensions, but under mask '" +
        to_string(mask) + "' " + described(rows_, width) + " and " +
        described(batch.rows, vectors.size(1)));
  }
  if (!batch.files.empty() && batch.files.size() != batch.rows.size()) {
    throw Error("a batch for the gallery has " + std::to_string(count) + " rows and " +
                    std::to_string(batch.files.size()) + " files",
                Fault::internal);
  }
  for (const auto& [mask, vectors] : batch.vectors) {
    vectors_[mask].add(vectors.detach());
  }
  if (count == 0) return;
  input_ = rows_.empty() ? batch.input : together(input_, batch.input);
  rows_.insert(rows_.end(), batch.rows.begin(), batch.rows.end());
  files_.insert(files_.end(), batch.files.begin(), batch.files.end());
  files_.resize(rows_.size());
}

void GalleryIndex::build() {
  if (rows_.empty()) throw Error("the gallery is empty: no image was received");
  const auto has_no_id = [](const GalleryRow& row) { return row.id < 0; };
  const auto without = std::ranges::find_if(rows_, has_no_id);
  if (without != rows_.end()) {
    const auto with = std::ranges::find_if_not(rows_, has_no_id);
    if (with != rows_.end()) {
      throw Error("either all images of a gallery must have an 'index' or none, but " +
                  without->origin.text() + " has none and " + with->origin.text() + " has " +
                  std::to_string(with->id));
    }
    std::int64_t next = 0;
    for (GalleryRow& row : rows_) row.id = next++;
  }
  std::vector<std::int64_t> order(rows_.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [this](std::int64_t row) { return rows_[row].id; });

  std::vector<GalleryRow> sorted;
  sorted.reserve(rows_.size());
  std::vector<std::string> files;
  files.reserve(rows_.size());
  for (const std::int64_t row : order) {
    if (!sorted.empty() && sorted.back().id == rows_[row].id) {
      throw Error("two gallery images have index " + std::to_string(rows_[row].id) + ": " +
                  sorted.back().origin.text() + " and " + rows_[row].origin.text() +
                  "; a gallery must contain each image of its list only once");
    }
    sorted.push_back(std::move(rows_[row]));
    files.push_back(std::move(files_[row]));
  }
  rows_ = std::move(sorted);
  files_ = std::move(files);

  const NameOfRow name = [this](std::int64_t row) { return rows_[row].origin.text(); };
  std::map<Mask, ExactIndex> indexes;  // all of them become ready, or none
  for (auto& [mask, gathered] : vectors_) {
    indexes.emplace(mask, ExactIndex(gathered.take_in_order(order), metric(mask), name));
  }
  vectors_.clear();
  indexes_ = std::move(indexes);
}

const ExactIndex& GalleryIndex::index_under(Mask mask) const {
  const auto index = indexes_.find(mask);
  if (index != indexes_.end()) return index->second;
  throw Error("the gallery has no vectors under mask '" + to_string(mask) + "'", Fault::internal);
}

const Tensor& GalleryIndex::vectors(Mask mask) const {
  return index_under(mask).vectors();
}

Neighbours GalleryIndex::search(const Tensor& queries,
                                const retrieval::SearchRequest& request) const {
  SearchOptions options;
  options.k = request.k;
  options.excluded_row = request.excluded_row;
  options.query_item = request.query_item;
  options.gallery_item = request.gallery_item;
  return index_under(request.mask).search(queries, options, request.name_of_query);
}

void GalleryIndex::save(Archive& archive) const {
  if (!ready()) return;
  archive.put("trainings", trainings_);
  archive.put("height", input_.height);
  archive.put("width", input_.width);
  archive.put("data difference", data_difference_);
  archive.put("items", packed_texts(rows_, [](const auto& row) { return row.item; }));
  archive.put("files", packed_texts(rows_, [](const auto& row) {
                return row.origin.file ? *row.origin.file : std::string();
              }));
  archive.put("names", packed_texts(rows_, [](const auto& row) { return row.origin.item; }));
  archive.put("pictures", packed_texts(files_, [](const std::string& file) { return file; }));
  put_tensor(archive, "lines", numbers_of(rows_, [](const auto& row) { return row.origin.line; }));
  put_tensor(archive, "ids", numbers_of(rows_, [](const auto& row) { return row.id; }));
  put_tensor(archive, "categories",
             numbers_of(rows_, [](const auto& row) { return row.category; }));
  for (const auto& [mask, index] : indexes_) {
    put_tensor(archive, vectors_of + to_string(mask), index.vectors());
  }
}

void GalleryIndex::load(const Archive& archive) {
  clear();
  if (!archive.has("ids")) return;
  trainings_ = archive.integer("trainings");
  const std::vector<std::string> items = unpacked_texts(archive.text("items"), "gallery");
  const std::vector<std::string> files = unpacked_texts(archive.text("files"), "gallery");
  const std::vector<std::string> names = unpacked_texts(archive.text("names"), "gallery");
  const torch::Tensor lines = saved_tensor(archive, "lines", torch::kInt64);
  const torch::Tensor ids = saved_tensor(archive, "ids", torch::kInt64);
  const torch::Tensor categories = saved_tensor(archive, "categories", torch::kInt64);
  const std::size_t count = items.size();
  const auto same = [&](std::int64_t size) { return size == static_cast<std::int64_t>(count); };
  if (files.size() != count || names.size() != count || !same(lines.numel()) ||
      !same(ids.numel()) || !same(categories.numel())) {
    throw Error("the saved gallery has different numbers of items, names and ids");
  }
  GalleryBatch batch;
  if (archive.has("data difference")) data_difference_ = archive.text("data difference");
  if (archive.has("height")) batch.input = {archive.integer("height"), archive.integer("width")};
  if (archive.has("pictures")) batch.files = unpacked_texts(archive.text("pictures"), "gallery");
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
    if (archive.has(name)) batch.vectors[mask] = saved_tensor(archive, name);
  }
  add(batch);
  batch.vectors.clear();  // copied
  build();
}

}  // namespace seam::stages
