/// The gallery of retrieval.index: vectors under each mask, and the labels of each row.
///
///     add, add, ... ──► build ──► rows in ascending row id, for any order of arrival
///
/// Ties between neighbours are ranked by row id, so the order of arrival has no effect.
#pragma once

#include <torch/types.h>
#include <seam/archive.hpp>
#include <seam/gallery.hpp>

#include "stages/retrieval/exact_search.hpp"

namespace seam::stages {

/// Collects vectors that arrive batch by batch in one matrix.
///
///     add, add, ... ──► [rows so far | room] ──► take_in_order ──► [G,E]
///
/// The matrix grows by half when it is full. Unused capacity takes address space but no memory, so
/// the vectors take at most twice their size while they are copied to a larger matrix or sorted,
/// and otherwise once.
class GatheredRows {
 public:
  /// Copies `vectors`, [N,E] of any type and device, with the same number of dimensions as before.
  void add(const torch::Tensor& vectors);

  [[nodiscard]] std::int64_t size() const { return size_; }
  /// 0 before the first.
  [[nodiscard]] std::int64_t dimensions() const { return rows_.defined() ? rows_.size(1) : 0; }

  /// Returns f32[G,E] on the CPU, whose row i is the order[i]-th received one; `order` contains
  /// each number once. Leaves the object empty.
  [[nodiscard]] torch::Tensor take_in_order(std::span<const std::int64_t> order);

 private:
  torch::Tensor rows_;  ///< f32[C,E], of which `size_` are filled
  std::int64_t size_ = 0;
};

using retrieval::GalleryRow;
using retrieval::Mask;

/// Some images with their vectors under each mask, f32[N,E].
struct GalleryBatch {
  std::vector<GalleryRow> rows;  ///< either all rows of a gallery have an id, or none (-1)
  std::map<Mask, torch::Tensor> vectors;
  std::vector<std::string> files;  ///< of the rows, as from picture_files(); or none
  retrieval::InputSize input;
};

class GalleryIndex final : public retrieval::Gallery, public retrieval::GalleryImages {
 public:
  /// Removes all content, but keeps the settings.
  void clear();
  /// Copies the vectors. Throws seam::Error naming the mask if counts differ, or if a mask is
  /// missing or was missing before; if there is not one file per row; and naming two
  /// images if their widths differ.
  void add(const GalleryBatch& batch);
  /// Sorts the rows and makes them searchable. Throws seam::Error for an empty gallery, two rows
  /// with the same id (naming both), and vectors that cannot be compared (naming the image).
  void build();

  /// The masks and how whole embeddings are compared, for stages that refer to the index before it
  /// is built. Masked embeddings are compared by cosine: vectors of unit length are ranked like by
  /// the Euclidean distance, and those of different categories are exactly tied.
  void expect(std::vector<Mask> masks, Metric of_whole);
  /// The number of training flows of the run before the vectors were computed.
  void set_trainings(std::int64_t trainings) { trainings_ = trainings; }
  /// How the images differ from published lists; saved with the gallery.
  void set_data_difference(std::string difference) { data_difference_ = std::move(difference); }

  /// Saves the result of build(); load() restores it. Saves nothing if the index is not built.
  void save(Archive& archive) const;
  void load(const Archive& archive);

  [[nodiscard]] std::vector<Mask> masks() const override { return expected_; }
  [[nodiscard]] bool ready() const override { return !indexes_.empty(); }
  [[nodiscard]] std::span<const GalleryRow> rows() const override { return rows_; }
  [[nodiscard]] Metric metric(Mask mask) const override {
    return mask == Mask::none ? of_whole_ : Metric::cosine;
  }
  [[nodiscard]] std::string method() const override { return "exact"; }
  [[nodiscard]] std::int64_t trainings() const override { return trainings_; }
  [[nodiscard]] retrieval::InputSize input() const override { return input_; }
  [[nodiscard]] Neighbours search(const Tensor& queries,
                                  const retrieval::SearchRequest& request) const override;

  /// f32[G,E] on the CPU, in the order of rows(). Only if the gallery is ready. Throws seam::Error
  /// for a mask that is not among masks().
  [[nodiscard]] const Tensor& vectors(Mask mask) const;
  /// As PublishedLists::difference(), of the data sets that filled it; only if it is ready.
  [[nodiscard]] std::string data_difference() const override { return data_difference_; }
  [[nodiscard]] std::span<const std::string> files() const override { return files_; }

 private:
  [[nodiscard]] const ExactIndex& index_under(Mask mask) const;

  std::vector<GalleryRow> rows_;
  std::vector<std::string> files_;        ///< of rows_
  std::map<Mask, GatheredRows> vectors_;  ///< in order of arrival; empty once built
  std::map<Mask, ExactIndex> indexes_;
  std::vector<Mask> expected_;
  Metric of_whole_ = Metric::squared_euclidean;
  retrieval::InputSize input_;
  std::int64_t trainings_ = 0;
  std::string data_difference_;
};

}  // namespace seam::stages
