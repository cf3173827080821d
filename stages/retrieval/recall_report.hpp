/// The text that an evaluation ends with: what was compared, under which protocol, and recall@K for
/// every mask, in Markdown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stages/retrieval/exact_search.hpp"
#include "stages/retrieval/masked_embedding.hpp"
#include "stages/retrieval/recall_at_k.hpp"

namespace seam::stages {

/// What was evaluated, beside the numbers.
struct Evaluation {
  std::string protocol;  ///< what the user calls the data, such as "inshop/img256"
  std::int64_t gallery_images = 0;
  std::int64_t gallery_items = 0;
  bool self_excluded = false;
  std::int64_t trainings_since_gallery = 0;  ///< above 0: gallery and queries of other weights
  /// What published numbers were measured on.
  std::optional<std::int64_t> expected_queries;
  std::optional<std::int64_t> expected_gallery;
};

struct MaskResult {
  Mask mask = Mask::none;
  Metric metric = Metric::squared_euclidean;
  RecallResult recall;
};

/// "inshop/img256/full-gallery/cosine/ties=id/self=kept/lone=left-out/mask=none": equal texts mean
/// comparable numbers. `ties=id`: by the row's position in its list; gallery=category where the
/// mask restricts the search by label.
[[nodiscard]] std::string protocol_of(const Evaluation& evaluation, const MaskResult& result);

/// Why the numbers must not be set beside published ones, or empty: counts other than expected,
/// queries left out, a gallery of older weights.
[[nodiscard]] std::string incomparable(const Evaluation& evaluation, const RecallResult& result);

/// All results are over the same queries; the first names the counts. Throws seam::Error without
/// any.
[[nodiscard]] std::string recall_table(const Evaluation& evaluation,
                                       const std::vector<MaskResult>& results);

/// One row a category, for one result.
[[nodiscard]] std::string category_table(const MaskResult& result);

}  // namespace seam::stages
