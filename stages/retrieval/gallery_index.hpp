/// The gallery that retrieval.index keeps: vectors under each mask, and what each row shows.
///
///     add, add, ... ──► build ──► rows in ascending row id, whatever order they came in
///
/// Ties between neighbours fall to the smaller row id, so the order of arrival decides nothing.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <map>
#include <seam/archive.hpp>
#include <seam/gallery.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stages/retrieval/exact_search.hpp"
#include "stages/retrieval/gathered_rows.hpp"
#include "stages/retrieval/masked_embedding.hpp"
#include "stages/retrieval/vector_gallery.hpp"

namespace seam::stages {

using retrieval::GalleryRow;

/// Some images with their vectors under each mask, f32[N,E].
struct GalleryBatch {
  std::vector<GalleryRow> rows;  ///< all of a gallery have an id, or none has (-1)
  std::map<Mask, torch::Tensor> vectors;
  std::vector<std::string> files;      ///< of the rows, as picture_files() has them; or none at all
  std::vector<std::string> sequences;  ///< that the rows belong to, or none at all
  retrieval::InputSize input;
};

/// How vectors are compared: the whole embedding, and what a mask left of it.
struct GalleryMetrics {
  Metric whole = Metric::squared_euclidean;
  Metric masked = Metric::cosine;

  [[nodiscard]] Metric under(Mask mask) const { return mask == Mask::none ? whole : masked; }
};

class GalleryIndex final : public VectorGallery {
 public:
  /// Forgets everything but what it is set to.
  void clear();
  /// Copies the vectors. Throws seam::Error naming the mask where counts differ, where a mask is
  /// missing or was not there before, where files or sequences are not one a row, and naming two
  /// images where their widths differ.
  void add(const GalleryBatch& batch);
  /// Sorts the rows and makes them searchable. Throws seam::Error for an empty gallery, two rows of
  /// one id (naming both), and vectors that cannot be compared (naming the image).
  void build();

  /// The masks that will be there, and how they are compared; for who refers to the index before it
  /// is built.
  void expect(std::vector<Mask> masks, GalleryMetrics metrics);
  /// How many trainings of the run came before the vectors were computed.
  void set_trainings(std::int64_t trainings) { trainings_ = trainings; }
  /// How the pictures differ from published lists; saved with the gallery.
  void set_data_difference(std::string difference) { data_difference_ = std::move(difference); }

  /// Writes down what build() had made ready; load() makes it ready again. Nothing for an index
  /// that is not built.
  void save(Archive& archive) const;
  void load(const Archive& archive);

  [[nodiscard]] std::vector<Mask> masks() const override { return expected_; }
  [[nodiscard]] bool ready() const override { return !indexes_.empty(); }
  [[nodiscard]] std::span<const GalleryRow> rows() const override { return rows_; }
  [[nodiscard]] Metric metric(Mask mask) const override { return metrics_.under(mask); }
  [[nodiscard]] std::string method() const override { return "exact"; }
  [[nodiscard]] std::int64_t trainings() const override { return trainings_; }
  [[nodiscard]] retrieval::InputSize input() const override { return input_; }
  [[nodiscard]] const Tensor& vectors(Mask mask) const override;
  [[nodiscard]] std::string data_difference() const override { return data_difference_; }
  [[nodiscard]] std::span<const std::string> files() const override { return files_; }
  [[nodiscard]] std::span<const std::string> sequences() const override { return sequences_; }
  [[nodiscard]] Neighbours search(const Tensor& queries,
                                  const retrieval::SearchRequest& request) const override;

 private:
  [[nodiscard]] const ExactIndex& index_under(Mask mask) const;

  std::vector<GalleryRow> rows_;
  std::vector<std::string> files_;        ///< of rows_
  std::vector<std::string> sequences_;    ///< the same
  std::map<Mask, GatheredRows> vectors_;  ///< as they came; empty once built
  std::map<Mask, ExactIndex> indexes_;
  std::vector<Mask> expected_;
  GalleryMetrics metrics_;
  retrieval::InputSize input_;
  std::int64_t trainings_ = 0;
  std::string data_difference_;
};

}  // namespace seam::stages
