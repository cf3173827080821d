/// A gallery with readable vectors, for stages that compute with the neighbours of a query: query
/// expansion and re-ranking. It also knows whether its images are those of published lists.
///
///     retrieval.index ── VectorGallery ──► retrieval.query_expansion, retrieval.rerank
#pragma once

#include <seam/gallery.hpp>
#include <span>
#include <string>

namespace seam::stages {

class VectorGallery : public retrieval::Gallery {
 public:
  /// f32[G,E] on the CPU, in the order of rows(). Only if the gallery is ready. Throws seam::Error
  /// for a mask that is not among masks().
  [[nodiscard]] virtual const Tensor& vectors(retrieval::Mask mask) const = 0;
  /// As PublishedLists::difference(), of the data sets that filled it; only if it is ready.
  [[nodiscard]] virtual std::string data_difference() const = 0;
  /// [G] the file of each row's image, as from picture_files(); empty if it has none.
  [[nodiscard]] virtual std::span<const std::string> files() const = 0;
  /// [G] the sequence of each row's image; empty if it belongs to none.
  [[nodiscard]] virtual std::span<const std::string> sequences() const = 0;
};

}  // namespace seam::stages
