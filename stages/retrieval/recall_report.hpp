/// The final report of an evaluation in Markdown: the data, the protocol, and recall@K for every
/// mask.
#pragma once

#include <optional>
#include <seam/retrieval.hpp>
#include <set>

#include "stages/retrieval/recall_at_k.hpp"

namespace seam::stages {

using retrieval::Mask;
using retrieval::Metric;

/// The data of published results, as far as the user specifies it.
struct Expectation {
  std::optional<std::int64_t> queries;
  std::optional<std::int64_t> gallery;
  std::optional<std::int64_t> height;
  std::optional<std::int64_t> width;
};

/// The description of an evaluation, in addition to its results.
struct Evaluation {
  std::string protocol;  ///< the user's name for the data, such as "inshop/img256"
  std::string method = "exact";
  std::int64_t gallery_images = 0;
  std::int64_t gallery_items = 0;
  bool self_excluded = false;
  std::int64_t trainings_since_gallery =
      0;  ///< above 0: gallery and queries have different weights
  retrieval::InputSize query_input;
  retrieval::InputSize gallery_input;
  std::string
      data_difference;  ///< from the published lists, as reported by the data set; empty: none
  Expectation expected;
  /// The published lists of the images, as reported by the data sets and named by `protocol`, such
  /// as "inshop"; empty: none or unknown.
  std::string published_data;
  std::set<std::string> query_lists;    ///< the list files of the queries
  std::set<std::string> gallery_lists;  ///< the list files of the gallery
};

struct MaskResult {
  Mask mask = Mask::none;
  Metric metric = Metric::squared_euclidean;
  RecallResult recall;
};

/// "inshop/img256/input=256x256/images=14218-in-12612/full-gallery/cosine/ties=id/self=kept/...":
/// equal texts with the same user's names mean comparable results. `ties=id`: by the row's position
/// in its list; category-gallery: the mask restricts the search by label.
[[nodiscard]] std::string protocol_of(const Evaluation& evaluation, const MaskResult& result);

/// Why the results are not comparable with published ones, or empty: counts or input size other
/// than expected, lists other than the published ones, queries left out, a gallery with older
/// weights or images of a different size.
[[nodiscard]] std::string incomparable(const Evaluation& evaluation, const RecallResult& result);

/// Which expectations are met, and which properties were not checked; empty without expectations.
[[nodiscard]] std::string checked(const Evaluation& evaluation);

/// All results must be over the same queries; the first provides the counts. Throws seam::Error if
/// there are none.
[[nodiscard]] std::string recall_table(const Evaluation& evaluation,
                                       const std::vector<MaskResult>& results);

/// The RankingMeans, one row each; throws if there are no results.
[[nodiscard]] std::string ranking_table(const std::vector<MaskResult>& results);

/// One row per category, for one result. `names`: of the categories, by number; categories without
/// a name are shown as numbers.
[[nodiscard]] std::string category_table(const MaskResult& result,
                                         const std::vector<std::string>& names);

// Published recall for the report of an evaluation: shown only if data, counts, image size and
// mask are the same.

/// A table for each mask with published results; empty if nothing is comparable. The data sets must
/// confirm that their lists are the published ones, and the user's `protocol` must name them:
/// "inshop" or "inshop/img256".
[[nodiscard]] std::string published_beside(const Evaluation& evaluation,
                                           const std::vector<MaskResult>& results);

/// The same by category. The category's queries and items must have the published counts too.
/// `names`: of the categories, by number.
[[nodiscard]] std::string published_categories(const Evaluation& evaluation,
                                               const MaskResult& result,
                                               const std::vector<std::string>& names);

}  // namespace seam::stages
