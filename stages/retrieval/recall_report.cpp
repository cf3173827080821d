#include "stages/retrieval/recall_report.hpp"

#include <seam/error.hpp>

#include "stages/counted.hpp"
#include "stages/decimals.hpp"
#include "stages/picture_paths.hpp"
#include "stages/published/published_rows.hpp"
#include "stages/ranking_method.hpp"
#include "stages/table_cell.hpp"

namespace seam::stages {
namespace {

/// Percent with at least three digits, since the effect of ties may be small: 0.0120, 0.612, 32.10.
std::string precise(double share) {
  int decimals = 2;
  for (double least = 0.01; share > 0 && share < least && decimals < 8; least /= 10) ++decimals;
  return percent(share, decimals);
}

/// Whether ties matter.
bool has_bounds(const std::optional<Bounded>& of) {
  return of && of->pessimistic != of->optimistic;
}

/// With its standard error, and its bounds if it has any and they are requested.
std::string bounded(const std::optional<Bounded>& of, const Uncertainty& uncertainty, bool bounds) {
  if (!of) return "needs a larger k";
  std::string text = precise(of->value);
  if (uncertainty.standard_error.value_or(0) > 0) {
    text += " ± " + precise(*uncertainty.standard_error);
  }
  if (bounds && has_bounds(of)) {
    text += " (" + precise(of->pessimistic) + " to " + precise(of->optimistic) + ")";
  }
  return text;
}

/// Rows with the interval, bounds and chance of each recall.
std::string rows_below(const RecallResult& recall, bool bounds) {
  std::string text;
  if (!recall.interval.empty()) {
    text += "| · 95 % interval | |";
    for (const ConfidenceInterval& interval : recall.interval) {
      text += " " + percent(interval.low) + " to " + percent(interval.high) + " |";
    }
    text += "\n";
  }
  if (bounds && recall.optimistic != recall.pessimistic) {
    text += "| · ties lucky or not | |";
    for (std::size_t i = 0; i < recall.ks.size(); ++i) {
      text += " " + percent(recall.pessimistic[i]) + " to " + percent(recall.optimistic[i]) + " |";
    }
    text += "\n";
  }
  if (!recall.chance.empty()) {
    text += "| · chance | |";
    for (const double share : recall.chance) text += " " + precise(share) + " |";
    text += "\n";
  }
  return text;
}

/// `before_k`: the names of the columns before the K.
std::string head(const RecallResult& result, const std::string& first_columns, int count,
                 const std::string& before_k = "R@") {
  std::string text = first_columns;
  for (const std::int64_t k : result.ks) text += " " + before_k + std::to_string(k) + " |";
  text += "\n|";
  for (int i = 0; i < count; ++i) text += "---|";
  for (std::size_t i = 0; i < result.ks.size(); ++i) text += "---:|";
  return text + "\n";
}

/// Without counts and sizes, so that it matches nothing, if the run's protocol differs from the
/// published one.
MeasuredOn measured_on(const Evaluation& evaluation, const MaskResult& result) {
  MeasuredOn on{.task = "recall",
                .data = evaluation.published_data,
                .category = "",
                .items = result.recall.query_items,
                .gallery = evaluation.gallery_images,
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

std::string protocol_of(const Evaluation& evaluation, const MaskResult& result) {
  std::string text = evaluation.protocol.empty() ? "unnamed" : evaluation.protocol;
  text += "/input=" + to_string(evaluation.query_input);
  if (evaluation.gallery_input != evaluation.query_input) {
    text += "-in-" + to_string(evaluation.gallery_input);
  }
  // Skipped images or a `limit` change the results for the same name of the data.
  text += "/images=" + std::to_string(result.recall.queries) + "-in-" +
          std::to_string(evaluation.gallery_images);
  text += reads_labels(result.mask) ? "/category-gallery" : "/full-gallery";
  if (evaluation.method != "exact") text += "/search=" + evaluation.method;
  text += result.metric == Metric::cosine ? "/cosine" : "/l2";
  text += "/ties=id/self=";
  text += evaluation.self_excluded ? "excluded" : "kept";
  text += "/lone=";
  if (result.recall.lone_policy == LoneQueries::miss) {
    text += "missed";
  } else {  // the results are those of the other queries
    if (result.recall.lone_queries > 0) text += std::to_string(result.recall.lone_queries) + "-";
    text += "left-out";
  }
  text += "/mask=" + to_string(result.mask);
  return evaluation.trainings_since_gallery > 0 ? text + "/gallery=older" : text;
}

std::string incomparable(const Evaluation& evaluation, const RecallResult& result) {
  std::string reason;
  const auto add = [&](const std::string& text) { reason += (reason.empty() ? "" : ", ") + text; };
  const auto compare = [&](std::int64_t count, const std::optional<std::int64_t>& expected,
                           const std::string& what) {
    if (!expected || *expected == count) return;
    add(grouped(count) + " " + what + " instead of the expected " + grouped(*expected));
  };
  if (!evaluation.data_difference.empty()) add(evaluation.data_difference);
  const Expectation& expected = evaluation.expected;
  compare(result.queries, expected.queries, "queries");
  compare(evaluation.gallery_images, expected.gallery, "gallery images");
  const auto compare_size = [&](const retrieval::InputSize& size, const std::string& whose) {
    const bool fits = (!expected.height || *expected.height == size.height) &&
                      (!expected.width || *expected.width == size.width);
    if (fits) return;
    const auto side = [](const std::optional<std::int64_t>& pixels) {
      return pixels ? std::to_string(*pixels) : std::string("any");
    };
    add(whose + " of input size " + to_string(size) + " instead of the expected " +
        side(expected.height) + "x" + side(expected.width));
  };
  compare_size(evaluation.query_input, "queries");
  compare_size(evaluation.gallery_input, "a gallery");
  if (evaluation.query_input.known() && evaluation.gallery_input.known() &&
      evaluation.query_input != evaluation.gallery_input) {
    add("queries of " + to_string(evaluation.query_input) + " pixels in a gallery of " +
        to_string(evaluation.gallery_input));
  }
  if (expected.queries && result.lone_policy == LoneQueries::leave_out && result.lone_queries > 0) {
    add(counted(result.lone_queries, "query", "queries") + " left out");
  }
  if (evaluation.method != "exact") add("neighbours found by " + evaluation.method);
  if (evaluation.trainings_since_gallery > 0) {
    add("the run trained between embedding the gallery and the queries");
  }
  return reason;
}

std::string checked(const Evaluation& evaluation) {
  const Expectation& expected = evaluation.expected;
  std::string right;
  std::string open;
  const auto add = [&](bool known, const std::string& what) {
    std::string& list = known ? right : open;
    list += (list.empty() ? "" : ", ") + what;
  };
  add(expected.queries.has_value(), "count of queries");
  add(expected.gallery.has_value(), "count of gallery images");
  add(expected.height && expected.width, "input size");
  if (right.empty()) return {};
  return "As expected: " + right + ". Not checked: " + (open.empty() ? "" : open + ", ") +
         "the list of images, and their preparation (colour, cropping, interpolation).";
}

std::string recall_table(const Evaluation& evaluation, const std::vector<MaskResult>& results) {
  if (results.empty()) throw Error("there are no results to report", Fault::internal);
  const RecallResult& first = results.front().recall;
  std::string text =
      counted(first.queries, "query", "queries") + " of " + counted(first.query_items, "item") +
      " in a gallery of " + counted(evaluation.gallery_images, "image") + " of " +
      counted(evaluation.gallery_items, "item") + "; " +
      counted(first.lone_queries, "lone query", "lone queries") +
      (first.lone_policy == LoneQueries::leave_out ? " left out" : " counted as missed");
  text += ".\n\n" + head(first, "| mask | reads labels |", 2);
  bool leaky = false;
  // A re-ranking does not receive the images that are tied with the last of the search's
  // neighbours.
  const bool has_tie_bounds = !is_reranked(evaluation.method);
  for (const MaskResult& result : results) {
    const RecallResult& recall = result.recall;
    leaky = leaky || reads_labels(result.mask);
    text += "| " + to_string(result.mask) + " | " +
            (reads_labels(result.mask) ? "**yes: leaky**" : "no") + " |";
    for (std::size_t i = 0; i < recall.ks.size(); ++i) {
      const auto error = recall.uncertainty(i).standard_error;
      text += " " + percent(recall.recall[i]) + (error ? " ± " + percent(*error) : "") + " |";
    }
    text += "\n";
    text += rows_below(recall, has_tie_bounds);
  }
  text +=
      "\nPercent of queries with an image of the same item among the K nearest; ± one standard "
      "error, by item. Intervals are by bootstrap over items; chance is the result of a gallery in "
      "random order.\n\n";
  text += "| mask | MRR@" + std::to_string(first.ks.back()) +
          " | R-precision | MAP@R | protocol |\n|---|---:|---:|---:|---|\n";
  bool bounds = false;
  for (const MaskResult& result : results) {
    const RecallResult& recall = result.recall;
    bounds = bounds || has_bounds(recall.mrr) || has_bounds(recall.r_precision) ||
             has_bounds(recall.map_at_r);
    text += "| " + to_string(result.mask) + " | " +
            bounded(recall.mrr, recall.mrr_uncertainty, has_tie_bounds) + " | " +
            bounded(recall.r_precision, recall.r_precision_uncertainty, has_tie_bounds) + " | " +
            bounded(recall.map_at_r, recall.map_at_r_uncertainty, has_tie_bounds) + " | `" +
            protocol_of(evaluation, result) + "` |\n";
  }
  if (bounds && has_tie_bounds)
    text += "\nIn parentheses: the range over all orders of tied distances.\n";
  if (!has_tie_bounds) {
    text +=
        "\nRe-ranked: without bounds over ties, since images that the search did not find were not "
        "re-ranked.\n";
  }
  if (leaky) {
    text +=
        "\nLeaky: the true category of every query narrowed its search, which a real retrieval "
        "system does not know. Chance under that mask is the result of the category alone: its "
        "gallery images in random order.\n";
  }
  if (!evaluation.query_lists.empty() || !evaluation.gallery_lists.empty()) {
    text += "\nLists that were read: queries " + names_of_lists(evaluation.query_lists) +
            ", gallery " + names_of_lists(evaluation.gallery_lists) + ".\n";
  }
  const std::string reason = incomparable(evaluation, first);
  if (!reason.empty()) {
    text += "\n**Not comparable with published numbers:** " + reason + ".\n";
  } else if (const std::string right = checked(evaluation); !right.empty()) {
    text += "\n" + right + "\n";
  }
  return text;
}

std::string ranking_table(const std::vector<MaskResult>& results) {
  if (results.empty()) throw Error("there are no results to report", Fault::internal);
  std::string text = "\n" + head(results.front().recall, "| mask | metric |", 2, "K = ");
  for (const MaskResult& result : results) {
    for (const auto& [metric, meaning, values] : ranking_means) {
      text += "| " + to_string(result.mask) + " | " + std::string(meaning) + " (" +
              std::string(metric) + ") |";
      for (const double value : result.recall.ranking.*values) text += " " + percent(value) + " |";
      text += "\n";
    }
  }
  return text + "\nR: the gallery images of the query's item. Ties are ranked by gallery row.\n";
}

std::string category_table(const MaskResult& result, const std::vector<std::string>& names) {
  std::string text = head(result.recall, "| category | items | queries |", 3);
  for (const auto& [category, recall] : result.recall.by_category) {
    text += "| " + (category < 0 ? "unknown" : class_cell(category, names)) + " | " +
            grouped(recall.items) + " | " + grouped(recall.queries) + " |";
    for (const double share : recall.recall) text += " " + percent(share) + " |";
    text += "\n";
  }
  return text;
}

std::string published_beside(const Evaluation& evaluation, const std::vector<MaskResult>& results) {
  std::string text;
  for (const MaskResult& result : results) {
    const std::string table = published_table(measured_on(evaluation, result), result.recall.ks);
    if (!table.empty()) text += "\nMask " + to_string(result.mask) + ":\n" + table;
  }
  return text;
}

std::string published_categories(const Evaluation& evaluation, const MaskResult& result,
                                 const std::vector<std::string>& names) {
  const MeasuredOn all = measured_on(evaluation, result);
  if (published_table(all, result.recall.ks).empty()) return {};
  std::string text;
  for (const auto& [category, recall] : result.recall.by_category) {
    if (category < 0 || static_cast<std::size_t>(category) >= names.size()) continue;
    MeasuredOn on = all;
    on.category = names[static_cast<std::size_t>(category)];
    on.queries = recall.queries;
    on.items = recall.items;
    const std::string table = published_table(on, result.recall.ks);
    if (!table.empty() && !on.category.empty()) text += "\n" + on.category + ":\n" + table;
  }
  return text;
}

}  // namespace seam::stages
