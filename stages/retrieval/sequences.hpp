/// Excludes gallery images of a query's own sequence from its results: frames of one video, or
/// views taken at almost the same time, which a model finds regardless of what it has learned.
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

/// The `sequence` of each row; empty if it belongs to none.
inline constexpr Field<std::vector<std::string>> sequences{"sequences", "*[N]"};

}  // namespace seam::field

namespace seam::stages {

/// The gallery rows of each sequence.
class Sequences {
 public:
  Sequences() = default;
  /// The texts must outlive this object. An empty text means no sequence.
  explicit Sequences(std::span<const std::string> of_rows);

  /// Whether any row belongs to a sequence.
  [[nodiscard]] bool known() const { return !rows_.empty(); }
  /// The rows of a sequence, ascending; none for an empty text.
  [[nodiscard]] std::span<const std::int64_t> rows_of(std::string_view sequence) const;

 private:
  std::map<std::string_view, std::vector<std::int64_t>> rows_;
};

/// For each query, the rows that it must not find, ascending.
using LeftOut = std::vector<std::vector<std::int64_t>>;

/// The items of queries and gallery, as in retrieval::SearchRequest.
struct ShownItems {
  std::span<const std::int64_t> of_queries;
  std::span<const std::int64_t> of_rows;
};

/// The k nearest of each query among the rows that are not left out, with the ties at the cut.
/// Requests as many neighbours from `search` as necessary: k plus the largest number that a query
/// leaves out, and more if ties continue.
[[nodiscard]] retrieval::Neighbours nearest_without(
    const LeftOut& left_out, std::int64_t k, const ShownItems& items,
    const std::function<retrieval::Neighbours(std::int64_t k)>& search);

}  // namespace seam::stages
