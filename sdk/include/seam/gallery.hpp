// SPDX-License-Identifier: Apache-2.0
/// Interface of a gallery that retrieval.search compares queries with. Opt-in: link Seam::tensor.
///
///     class MyIndex final : public seam::Compute<seam::Sink>, public seam::retrieval::Gallery {
///       void declare(seam::Declaration& d) override {
///         ...
///         d.offers<seam::retrieval::Gallery>(*this);
///       }
///     };
///
/// The stage is filled by its own flow; `index = "..."` of retrieval.search names it, and every
/// metric works with it. All calls come from the compute thread, none while that flow runs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "seam/origin.hpp"
#include "seam/retrieval.hpp"
#include "seam/tensor.hpp"

namespace seam::retrieval {

/// One gallery image.
struct GalleryRow {
  std::int64_t id = -1;  ///< its position in its list: field `index`
  std::string item;      ///< the item in the image: field `item`
  std::int64_t category = -1;
  Origin origin;
};

/// A search request for a batch of Q queries. The spans must stay valid during the call.
struct SearchRequest {
  Mask mask = Mask::none;
  std::int64_t k = 50;  ///< may exceed the number of gallery rows
  /// [Q] gallery row that a query must not find (itself, in leave-one-out), or -1; or empty.
  std::span<const std::int64_t> excluded_row;
  /// [Q] and [G]: the item of each vector; or empty. Used only to distinguish relevant from
  /// irrelevant ties at rank k; it never changes the neighbours.
  std::span<const std::int64_t> query_item;
  std::span<const std::int64_t> gallery_item;
  NameOfRow name_of_query;  ///< for messages about a query
};

class Gallery {
 public:
  virtual ~Gallery() = default;

  /// The masks that it can be searched with, known after open().
  [[nodiscard]] virtual std::vector<Mask> masks() const = 0;
  /// Returns whether the gallery is complete; the functions below are only called if it is.
  [[nodiscard]] virtual bool ready() const = 0;
  /// Its images in ascending order of unique ids; unchanged until the stage's flow runs again.
  [[nodiscard]] virtual std::span<const GalleryRow> rows() const = 0;
  /// How the vectors under the mask are compared.
  [[nodiscard]] virtual Metric metric(Mask mask) const = 0;
  /// The search method: "exact", or a different name, which then is part of every protocol. With
  /// "rerank=" in it, distances are not those of the metric: nothing is computed from them.
  [[nodiscard]] virtual std::string method() const = 0;
  /// Context::trainings() when the gallery was filled.
  [[nodiscard]] virtual std::int64_t trainings() const = 0;
  /// The size of the images that it was computed from; {} if unknown.
  [[nodiscard]] virtual InputSize input() const { return {}; }
  /// `queries`: f32[Q,E] on the CPU. The result has Q queries and `request.k` neighbours each.
  /// Throws seam::Error with Fault::data if E differs from the gallery's, and, naming the image, if
  /// a vector cannot be compared.
  [[nodiscard]] virtual Neighbours search(const Tensor& queries,
                                          const SearchRequest& request) const = 0;
};

/// The files of a gallery's images. A class that derives from Gallery may also derive from this;
/// `retrieval.search` finds it by a cast. Without it, `retrieval.recall` refuses queries that have
/// a path, because one that is in the gallery under a different list would find itself.
class GalleryImages {
 public:
  virtual ~GalleryImages() = default;

  /// [G] the file of each row's image (field `paths`), absolute and with links followed, as by
  /// std::filesystem::weakly_canonical; empty for an image without path.
  [[nodiscard]] virtual std::span<const std::string> files() const = 0;
  /// How the images differ from published lists, as a clause; empty if they do not.
  [[nodiscard]] virtual std::string data_difference() const { return unknown_difference; }

  static constexpr const char* unknown_difference =
      "the images were not compared with published lists";
};

}  // namespace seam::retrieval
