// SPDX-License-Identifier: Apache-2.0
/// A gallery that queries are compared with, as retrieval.search sees it. Opt-in: link
/// Seam::tensor.
///
///     class MyIndex final : public seam::Compute<seam::Sink>, public seam::retrieval::Gallery {
///       void declare(seam::Declaration& d) override {
///         ...
///         d.offers<seam::retrieval::Gallery>(*this);
///       }
///     };
///
/// The stage fills itself in a flow of its own; `index = "..."` of retrieval.search names it, and
/// every metric works with it. All calls come from the compute thread, none while its flow runs.
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
  std::string item;      ///< what it shows: field `item`
  std::int64_t category = -1;
  Origin origin;
};

/// What is asked of a gallery for a batch of Q queries. The spans live through the call.
struct SearchRequest {
  Mask mask = Mask::none;
  std::int64_t k = 50;  ///< may be more than the gallery has rows
  /// [Q] the gallery row that a query must not find (itself, in leave-one-out), or -1; or empty.
  std::span<const std::int64_t> excluded_row;
  /// [Q] and [G]: which item a vector shows; or empty. Only tells relevant from irrelevant ties at
  /// the cut; never changes which neighbours are found.
  std::span<const std::int64_t> query_item;
  std::span<const std::int64_t> gallery_item;
  NameOfRow name_of_query;  ///< for messages about a query
};

class Gallery {
 public:
  Gallery() = default;
  virtual ~Gallery() = default;

  /// The masks under which it can be searched, known once the stage is open.
  [[nodiscard]] virtual std::vector<Mask> masks() const = 0;
  /// Whether it is complete; what follows is only called then.
  [[nodiscard]] virtual bool ready() const = 0;
  /// Its images in ascending order of id, no id twice; unchanged until the stage's flow runs again.
  [[nodiscard]] virtual std::span<const GalleryRow> rows() const = 0;
  /// How the vectors under the mask are compared.
  [[nodiscard]] virtual Metric metric(Mask mask) const = 0;
  /// How neighbours are found: "exact", or another name, which then is part of every protocol.
  [[nodiscard]] virtual std::string method() const = 0;
  /// Context::trainings() when the gallery was filled.
  [[nodiscard]] virtual std::int64_t trainings() const = 0;
  /// The size of the pictures that it was computed from, {} where it is not known.
  [[nodiscard]] virtual InputSize input() const { return {}; }
  /// `queries`: f32[Q,E] on the CPU. The result has Q queries and `request.k` neighbours each.
  /// Throws seam::Error with Fault::data where E is not the gallery's, and for vectors that cannot
  /// be compared, naming the image.
  [[nodiscard]] virtual Neighbours search(const Tensor& queries,
                                          const SearchRequest& request) const = 0;

 protected:
  // Only through what derives from it.
  Gallery(const Gallery&) = default;
  Gallery& operator=(const Gallery&) = default;
  Gallery(Gallery&&) = default;
  Gallery& operator=(Gallery&&) = default;
};

}  // namespace seam::retrieval
