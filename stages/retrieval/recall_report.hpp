/// The text that an evaluation ends with: what was compared, under which protocol, and recall@K for
/// every mask, in Markdown.
#pragma once

#include <cstdint>
#include <optional>
#include <seam/retrieval.hpp>
#include <set>
#include <string>
#include <vector>

#include "stages/retrieval/recall_at_k.hpp"

namespace seam::stages {

using retrieval::Mask;
using retrieval::Metric;

/// What published numbers were measured on, as far as the user says.
struct Expectation {
  std::optional<std::int64_t> queries;
  std::optional<std::int64_t> gallery;
  std::optional<std::int64_t> height;
  std::optional<std::int64_t> width;
};

/// What was evaluated, beside the numbers.
struct Evaluation {
  std::string protocol;  ///< what the user calls the data, such as "inshop/img256"
  std::string method = "exact";
  std::int64_t gallery_images = 0;
  std::int64_t gallery_items = 0;
  bool self_excluded = false;
  std::int64_t trainings_since_gallery = 0;  ///< above 0: gallery and queries of other weights
  retrieval::InputSize query_input;
  retrieval::InputSize gallery_input;
  std::string data_difference;  ///< from the published lists, as the data set says; empty: none
  Expectation expected;
  /// Which published lists the pictures are, as the data sets say and `protocol` calls them, such
  /// as "inshop"; empty: none, or nobody knows.
  std::string published_data;
  std::set<std::string> query_lists;    ///< the files that named the queries
  std::set<std::string> gallery_lists;  ///< and the gallery's pictures
};

struct MaskResult {
  Mask mask = Mask::none;
  Metric metric = Metric::squared_euclidean;
  RecallResult recall;
};

/// "inshop/img256/input=256x256/images=14218-in-12612/full-gallery/cosine/ties=id/self=kept/...":
/// equal texts, of one user's names, mean comparable numbers. `ties=id`: by the row's position in
/// its list; category-gallery where the mask restricts the search by label.
[[nodiscard]] std::string protocol_of(const Evaluation& evaluation, const MaskResult& result);

/// Why the numbers must not be set beside published ones, or empty: counts or input size other than
/// expected, lists other than the published ones, queries left out, a gallery of older weights or
/// pictures of another size.
[[nodiscard]] std::string incomparable(const Evaluation& evaluation, const RecallResult& result);

/// What of the expectations is as it should be, and what nobody has checked; empty where nothing is
/// expected.
[[nodiscard]] std::string checked(const Evaluation& evaluation);

/// All results are over the same queries; the first names the counts. Throws seam::Error without
/// any.
[[nodiscard]] std::string recall_table(const Evaluation& evaluation,
                                       const std::vector<MaskResult>& results);

/// The metrics of ranking_metrics.hpp, a row each; throws where there are no results.
[[nodiscard]] std::string ranking_table(const std::vector<MaskResult>& results);

/// One row a category, for one result. `names`: of the categories, by number; those without one are
/// numbers in the table.
[[nodiscard]] std::string category_table(const MaskResult& result,
                                         const std::vector<std::string>& names);

}  // namespace seam::stages
