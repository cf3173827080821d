#include "stages/retrieval/published_beside.hpp"

#include <cstddef>

#include "stages/published/published_rows.hpp"

namespace seam::stages {
namespace {

/// Left incomplete, so that it matches nothing, if the run's protocol differs from the published
/// one.
MeasuredOn measured_on(const Evaluation& evaluation, const MaskResult& result) {
  MeasuredOn on{.task = "recall",
                .data = evaluation.published_data,
                .category = "",
                .queries = {},
                .items = result.recall.query_items,
                .gallery = evaluation.gallery_images,
                .classes = {},
                .height = {},
                .width = {},
                .mask = to_string(result.mask)};
  const bool same_input =
      evaluation.query_input.known() && evaluation.query_input == evaluation.gallery_input;
  if (!same_input || evaluation.self_excluded || result.recall.lone_queries > 0 ||
      !incomparable(evaluation, result.recall).empty()) {
    return on;
  }
  on.queries = result.recall.queries;
  on.height = evaluation.query_input.height;
  on.width = evaluation.query_input.width;
  return on;
}

}  // namespace

std::string published_beside(const Evaluation& evaluation, const std::vector<MaskResult>& results) {
  std::string text;
  for (const MaskResult& result : results) {
    const std::string table =
        published_table(published_on(measured_on(evaluation, result)), result.recall.ks, "R@");
    if (!table.empty()) text += "\nMask " + to_string(result.mask) + ":\n" + table;
  }
  return text;
}

std::string published_categories(const Evaluation& evaluation, const MaskResult& result,
                                 const std::vector<std::string>& names) {
  const MeasuredOn all = measured_on(evaluation, result);
  if (published_on(all).empty()) return {};
  std::string text;
  for (const auto& [category, recall] : result.recall.by_category) {
    if (category < 0 || static_cast<std::size_t>(category) >= names.size()) continue;
    MeasuredOn on = all;
    on.category = names[static_cast<std::size_t>(category)];
    on.queries = recall.queries;
    on.items = recall.items;
    const std::string table = published_table(published_on(on), result.recall.ks, "R@");
    if (!table.empty() && !on.category.empty()) text += "\n" + on.category + ":\n" + table;
  }
  return text;
}

}  // namespace seam::stages
