/// The gallery that queries are compared with: vectors under each mask, and what each row shows.
///
///     add, add, ... ──► build ──► rows in ascending row id, whatever order they came in
///
/// Ties between neighbours fall to the smaller row id, so the order of arrival decides nothing.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <map>
#include <optional>
#include <seam/archive.hpp>
#include <seam/origin.hpp>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "stages/retrieval/exact_search.hpp"
#include "stages/retrieval/masked_embedding.hpp"

namespace seam::stages {

/// One gallery image.
struct GalleryRow {
  std::int64_t id = -1;  ///< its position in its list; all rows have one, or none has
  std::string item;
  std::int64_t category = -1;
  Origin origin;
};

/// Some images with their vectors under each mask, f32[N,E].
struct GalleryBatch {
  std::vector<GalleryRow> rows;
  std::map<Mask, torch::Tensor> vectors;
};

class GalleryIndex {
 public:
  GalleryIndex() = default;
  /// Forgets everything.
  void clear();
  /// Copies the vectors. Throws seam::Error where counts differ or earlier batches had other masks.
  void add(const GalleryBatch& batch);
  /// Sorts the rows and makes them searchable with `metric`; masked vectors that all have unit
  /// length with Metric::cosine, which ranks them alike and sees the ties between categories.
  /// Throws seam::Error for an empty gallery, two rows of one id (naming both), and vectors that
  /// cannot be compared (naming the image).
  void build(Metric metric);

  /// The masks that will be there, for who refers to the index before it is built; empty where that
  /// is not known.
  void expect(std::vector<Mask> masks) { expected_ = std::move(masks); }
  [[nodiscard]] const std::vector<Mask>& expected() const { return expected_; }
  /// How many trainings of the run came before the vectors were computed.
  void set_trainings(std::int64_t trainings) { trainings_ = trainings; }
  [[nodiscard]] std::int64_t trainings() const { return trainings_; }

  /// Writes down what build() had made ready; load() makes it ready again. Nothing for an index
  /// that is not built.
  void save(Archive& archive) const;
  void load(const Archive& archive, Metric metric);

  /// From build() on.
  [[nodiscard]] bool built() const { return !indexes_.empty(); }
  [[nodiscard]] const std::vector<GalleryRow>& rows() const { return rows_; }
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(rows_.size()); }
  [[nodiscard]] bool has(Mask mask) const { return indexes_.contains(mask); }
  /// Throws std::out_of_range where there is none for the mask.
  [[nodiscard]] const ExactIndex& index(Mask mask) const { return indexes_.at(mask); }
  /// Items are numbered from 0 in the order of rows; for each row, its item's number.
  [[nodiscard]] std::span<const std::int64_t> item_of_row() const { return item_of_row_; }
  [[nodiscard]] std::int64_t items() const { return static_cast<std::int64_t>(count_.size()); }
  /// The number of the item, or nothing where the gallery does not show it.
  [[nodiscard]] std::optional<std::int64_t> item_number(const std::string& item) const;
  /// How many rows show the item.
  [[nodiscard]] std::int64_t images_of(std::int64_t item_number) const {
    return count_[static_cast<std::size_t>(item_number)];
  }
  /// The row of that id, or nothing.
  [[nodiscard]] std::optional<std::int64_t> row_of_id(std::int64_t id) const;

 private:
  std::vector<GalleryRow> rows_;
  std::map<Mask, std::vector<torch::Tensor>> vectors_;  ///< as they came; empty once built
  std::map<Mask, ExactIndex> indexes_;
  std::vector<std::int64_t> item_of_row_;
  std::vector<std::int64_t> count_;
  std::unordered_map<std::string, std::int64_t> numbers_;
  std::vector<Mask> expected_;
  std::int64_t trainings_ = 0;
};

}  // namespace seam::stages
