/// Leaves the gallery images of a query's own sequence out of what it finds: frames of one video,
/// or views that were taken within a moment, which a model finds whatever it has learned.
///
///     nearest rows   7 a   2 a   9 b   4 a   1 c        query of sequence a
///     found          9 b   1 c
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <seam/field.hpp>
#include <seam/retrieval.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace seam::field {

/// The `sequence` of each row; empty where it belongs to none.
inline constexpr Field<std::vector<std::string>> sequences{"sequences", "*[N]"};

}  // namespace seam::field

namespace seam::stages {

/// Which gallery rows belong to which sequence.
class Sequences {
 public:
  Sequences() = default;
  /// The texts must outlive this. Those of no sequence are empty.
  explicit Sequences(std::span<const std::string> of_rows);

  /// Whether any row belongs to one.
  [[nodiscard]] bool known() const { return !rows_.empty(); }
  /// Ascending; none for an empty text.
  [[nodiscard]] std::span<const std::int64_t> rows_of(std::string_view sequence) const;

 private:
  std::map<std::string_view, std::vector<std::int64_t>> rows_;
};

/// Of each query, the rows that it must not find, ascending.
using LeftOut = std::vector<std::vector<std::int64_t>>;

/// What shows what, as in retrieval::SearchRequest.
struct ShownItems {
  std::span<const std::int64_t> of_queries;
  std::span<const std::int64_t> of_rows;
};

/// The k nearest of each query among the rows that are not left out, with the ties at the cut. Asks
/// `search` for as many neighbours as that takes: k and the most that a query leaves out, and more
/// where ties go on.
[[nodiscard]] retrieval::Neighbours nearest_without(
    const LeftOut& left_out, std::int64_t k, const ShownItems& items,
    const std::function<retrieval::Neighbours(std::int64_t k)>& search);

}  // namespace seam::stages
