#include "stages/retrieval/recall.hpp"

#include <algorithm>
#include <iterator>

#include "stages/class_vocabulary.hpp"
#include "stages/counted.hpp"
#include "stages/published/published_rows.hpp"
#include "stages/ranking_method.hpp"

namespace seam::stages {

using retrieval::Ranking;
using retrieval::Rankings;

namespace {

/// "r@5"
std::string recall_name(std::int64_t k) {
  return std::string(metric_name::recall_at) + std::to_string(k);
}

}  // namespace

void Recall::declare(Declaration& d) {
  d.doc(
      "Recall@K over all queries of a flow, with the bounds that ties allow, under every mask that "
      "was searched. Reports the protocol and whether labels were read.");
  d.parameter("k", ks_,
              "the values of K for recall@K; the search must find at least as many neighbours. MRR "
              "uses the largest")
      .at_least(1);
  d.parameter("lone_queries", lone_, "how to treat queries whose item is not in the gallery",
              {{"leave_out", LoneQueries::leave_out}, {"miss", LoneQueries::miss}});
  d.parameter("per_category", per_category_, "whether to add a table by category");
  d.parameter("ranking_metrics", ranking_metrics_,
              "whether to also record information retrieval metrics at every K, under names that "
              "state their denominator");
  d.parameter("protocol", protocol_, "name of the data in the report, such as 'inshop/img256'")
      .protocol();
  d.parameter("expected_queries", expected_.queries,
              "number of queries of published results; with a different count, the report marks "
              "the results as not comparable")
      .at_least(1);
  d.parameter("expected_gallery", expected_.gallery, "the same, for gallery images").at_least(1);
  d.parameter("expected_height", expected_.height, "the same, for the height of the images")
      .at_least(1)
      .unit("px");
  d.parameter("expected_width", expected_.width, "the same, for the width of the images")
      .at_least(1)
      .unit("px");
  d.reference("trained_on", trained_on_,
              "the data set that the model is trained on: queries of its items are rejected")
      .optional();
  const auto largest = std::ranges::max_element(ks_);
  d.needs(field::rankings)
      .contract("*[N," + std::to_string(largest == ks_.end() ? 1 : *largest) + "+]")
      .doc("with as many neighbours as the largest K: `k` of the search");
  d.accepts(field::categories);
  d.accepts(field::searched_gallery)
      .doc("from `retrieval.search`: rejected if an image has no item, or if a query finds itself");
  d.accepts(field::items).doc("to reject queries of items used for training");
  d.accepts(field::indices).doc("to reject a repeated query");
  d.accepts(field::origins).doc("the same, and for the names of lists and queries");
  d.accepts(field::paths).doc("to reject a repeated query");
  d.upstream(names_, "names of the categories in the table by category");
  d.upstream(lists_, "whether the images are those of published results");
  declare_headlines(d);
}

/// One headline metric per mask, that of the mask that reads labels last; masks that were not
/// searched are not recorded.
void Recall::declare_headlines(Declaration& d) const {
  if (ks_.empty()) return;
  const auto [smallest, largest] = std::ranges::minmax(ks_);
  std::vector<std::string> metrics{recall_name(smallest)};
  for (const std::int64_t k : {10, 20}) {
    if (k == smallest || std::ranges::find(ks_, k) == ks_.end()) continue;
    metrics.push_back(recall_name(k));
    break;
  }
  metrics.push_back("mrr@" + std::to_string(largest));
  for (const std::string& metric : metrics) {
    for (const Mask mask : {Mask::none, Mask::predicted, Mask::ground_truth}) {
      d.headline(to_string(mask) + "." + metric, Better::higher);
    }
  }
}

void Recall::open(Context& /*context*/) {
  static_cast<void>(RecallCounter(ks_));  // throws for an invalid list
}

void Recall::begin(Context& /*context*/) {
  counted_.clear();
  pictures_.clear();
  outcomes_.clear();
  first_lone_.clear();
  gallery_difference_.reset();
  evaluation_ = Evaluation();
  evaluation_.protocol = protocol_;
  evaluation_.expected = expected_;
}

/// The first rankings of a flow define the evaluation.
void Recall::begin_with(const Rankings& rankings) {
  evaluation_.method = rankings.method;
  evaluation_.gallery_images = rankings.gallery_images;
  evaluation_.gallery_items = rankings.gallery_items;
  evaluation_.self_excluded = rankings.self_excluded;
  evaluation_.trainings_since_gallery = rankings.trainings_since_gallery;
  evaluation_.query_input = rankings.query_input;
  evaluation_.gallery_input = rankings.gallery_input;
  for (const Ranking& ranking : rankings.by_mask) {
    counted_.push_back({ranking.mask, ranking.metric, RecallCounter(ks_, lone_)});
  }
}

/// Results of different searches must not be averaged.
void Recall::check_same_search(const Rankings& rankings) const {
  const auto refuse = [](const std::string& what) {
    throw Error("the queries of one evaluation come from different searches: " + what,
                Fault::internal);
  };
  if (rankings.gallery_images != evaluation_.gallery_images ||
      rankings.gallery_items != evaluation_.gallery_items) {
    refuse("the gallery has " + std::to_string(evaluation_.gallery_images) + " images of " +
           std::to_string(evaluation_.gallery_items) + " items for some queries and " +
           std::to_string(rankings.gallery_images) + " of " +
           std::to_string(rankings.gallery_items) + " for others");
  }
  if (rankings.self_excluded != evaluation_.self_excluded) {
    refuse("some queries may find themselves, others may not");
  }
  if (rankings.method != evaluation_.method ||
      rankings.gallery_input != evaluation_.gallery_input ||
      rankings.trainings_since_gallery != evaluation_.trainings_since_gallery) {
    refuse("the galleries were built or searched in different ways");
  }
  const auto same = [](const Counted& counted, const Ranking& ranking) {
    return counted.mask == ranking.mask && counted.metric == ranking.metric;
  };
  if (!std::ranges::equal(counted_, rankings.by_mask, same)) {
    refuse("they have different masks or metrics");
  }
}

void Recall::check_searched(const SearchedGallery& searched, std::size_t queries) {
  check_same_rows("'rankings' has", queries, "'searched_gallery' has", searched.images.size());
  if (!searched.own_category.empty()) {
    check_same_rows("'rankings' has", queries, "the categories of 'searched_gallery' have",
                    searched.own_category.size());
  }
  // All images without item would count as images of one item.
  if (!searched.without_item.empty()) {
    throw Error(searched.without_item +
                    " has no 'item', so hits cannot be counted; use data sets that name the item "
                    "of every query and every gallery image",
                Fault::configuration);
  }
  // A query at distance 0 from itself is a hit, whatever the model does.
  if (!searched.finds_itself.empty()) {
    throw Error(searched.finds_itself +
                    " and finds itself, which counts as a hit; use lists without common images for "
                    "queries and gallery, or set exclude_self = true for retrieval.search if both "
                    "are the same list",
                Fault::configuration);
  }
  if (!searched.uncompared.empty()) {
    throw Error(searched.uncompared, Fault::configuration);
  }
  if (!gallery_difference_) gallery_difference_ = searched.data_difference;
  if (evaluation_.gallery_lists.empty()) evaluation_.gallery_lists = searched.lists;
  if (*gallery_difference_ != searched.data_difference ||
      evaluation_.gallery_lists != searched.lists) {
    throw Error(
        "the queries of one evaluation come from different searches: their galleries have "
        "different lists",
        Fault::internal);
  }
}

/// Checks of the queries that the rankings do not allow.
void Recall::check_queries(const Packet& packet, std::size_t queries) {
  pictures_.add(packet, queries);
  add_lists_of(packet, evaluation_.query_lists);
  if (!trained_on_) return;
  const bool named = packet.has(field::origins) && packet[field::origins].size() == queries;
  const bool items = packet.has(field::items) && packet[field::items].size() == queries;
  for (std::size_t i = 0; i < queries; ++i) {
    check_unseen(*trained_on_, items ? packet[field::items][i] : std::string(),
                 "query " + (named ? packet[field::origins][i].text() : std::to_string(i)),
                 "evaluate items that are not in it, from a list with disjoint train and test "
                 "items or from its held-out folds");
  }
}

/// The published lists of both queries and gallery, if the user names them. The gallery only
/// reports how it differs, so its lists must be those of the queries.
std::string Recall::published_data() const {
  std::string data = published_name(lists_);
  const bool same = evaluation_.data_difference.empty() && !evaluation_.query_lists.empty() &&
                    evaluation_.query_lists == evaluation_.gallery_lists &&
                    data == data_of_protocol(evaluation_.protocol);
  if (!same) data.clear();
  return data;
}

void Recall::process(const Packet& packet, Context& /*context*/) {
  const Rankings& rankings = packet[field::rankings];
  const std::string problem = problem_with(rankings);
  if (!problem.empty()) {
    throw Error("field 'rankings' cannot be counted: " + problem, Fault::internal);
  }
  const bool categories = packet.has(field::categories);
  const std::size_t queries = rankings.item.size();
  if (categories) {
    check_same_rows("'rankings' has", queries, "'categories' has",
                    packet[field::categories].size());
  }
  if (queries == 0) return;
  const SearchedGallery* const searched =
      packet.has(field::searched_gallery) ? &packet[field::searched_gallery] : nullptr;
  if (searched != nullptr) check_searched(*searched, queries);
  if (counted_.empty()) begin_with(rankings);
  check_same_search(rankings);
  check_queries(packet, queries);
  evaluation_.query_input = together(evaluation_.query_input, rankings.query_input);
  std::vector<Outcome> outcomes = outcomes_of(packet, rankings);
  for (std::size_t m = 0; m < rankings.by_mask.size(); ++m) {
    const Ranking& ranking = rankings.by_mask[m];
    RecallCounter& counter = counted_[m].counter;
    const auto k = static_cast<std::size_t>(ranking.neighbours.k);
    const std::span<const std::int64_t> items(ranking.items);
    const std::span<const float> distances(ranking.neighbours.distances);
    for (std::size_t q = 0; q < queries; ++q) {
      RankedQuery query;
      query.items = items.subspan(q * k, k);
      query.distances = distances.subspan(q * k, k);
      query.tied_beyond = ranking.neighbours.tied_beyond[q];
      query.tied_beyond_relevant = ranking.neighbours.tied_beyond_relevant[q];
      query.relevant = rankings.relevant[q];
      query.item = rankings.item[q];
      if (query.relevant == 0 && first_lone_.empty()) {
        first_lone_ = row_name(packet, q);
        const bool named = packet.has(field::items) && q < packet[field::items].size();
        if (named) first_lone_ += " of item '" + packet[field::items][q] + "'";
      }
      if (reads_labels(ranking.mask)) {  // only images of its category are ranked
        if (searched != nullptr && !searched->own_category.empty()) {
          query.searched = searched->own_category[q].images;
          query.searched_relevant = searched->own_category[q].relevant;
        }
      } else {
        query.searched = searched != nullptr
                             ? searched->images[q]
                             : rankings.gallery_images - (rankings.self_excluded ? 1 : 0);
      }
      query.category = categories ? packet[field::categories][q] : -1;
      note_values(counter.add(query), counter.ks(), outcomes[q]);
    }
  }
  std::move(outcomes.begin(), outcomes.end(), std::back_inserter(outcomes_));
}

std::vector<Outcome> Recall::outcomes_of(const Packet& packet, const Rankings& rankings) {
  std::vector<Outcome> outcomes(rankings.item.size());
  const bool items =
      packet.has(field::items) && packet[field::items].size() == rankings.item.size();
  for (std::size_t q = 0; q < outcomes.size(); ++q) {
    outcomes[q].observation = observation_name(packet, q);
    outcomes[q].cluster = items ? packet[field::items][q] : std::to_string(rankings.item[q]);
  }
  return outcomes;
}

/// Recall at each K, MRR, R-precision and MAP@R.
void Recall::note_values(const std::optional<QueryScore>& score, std::span<const std::int64_t> ks,
                         Outcome& outcome) {
  for (const std::int64_t k : ks) {
    std::optional<double> value;
    if (score) value = score->first_hit && *score->first_hit < k ? 1 : 0;
    outcome.values.push_back(value);
  }
  for (const auto metric : {&QueryScore::mrr, &QueryScore::r_precision, &QueryScore::map_at_r}) {
    outcome.values.push_back(score ? std::optional((*score).*metric) : std::nullopt);
  }
}

/// Without R-precision and MAP@R if they are not reported either.
void Recall::leave_outcomes(const std::vector<MaskResult>& results, const Context& context) {
  std::vector<std::string> metrics;
  std::vector<std::size_t> places;
  std::size_t place = 0;
  const auto add = [&](const std::string& metric, bool reported) {
    if (reported) {
      metrics.push_back(metric);
      places.push_back(place);
    }
    ++place;
  };
  for (const MaskResult& result : results) {
    const std::string mask = to_string(result.mask) + ".";
    const RecallResult& recall = result.recall;
    for (const std::int64_t k : recall.ks) add(mask + recall_name(k), true);
    add(mask + "mrr@" + std::to_string(recall.ks.back()), true);
    add(mask + "r_precision", recall.r_precision.has_value());
    add(mask + "map@r", recall.map_at_r.has_value());
  }
  for (Outcome& outcome : outcomes_) {
    std::vector<std::optional<double>> values;
    for (const std::size_t at : places) values.push_back(outcome.values.at(at));
    outcome.values = std::move(values);
  }
  write_outcomes(metrics, outcomes_, context);
  outcomes_.clear();
}

void Recall::report_numbers(const std::vector<MaskResult>& results, Context& context) const {
  const bool bounds = !is_reranked(evaluation_.method);
  const auto report = [&](const std::string& metric, const Bounded& bounded) {
    context.metric(metric, bounded.value);
    if (!bounds) return;
    context.metric(metric + ".optimistic", bounded.optimistic);
    context.metric(metric + ".pessimistic", bounded.pessimistic);
  };
  const auto report_uncertainty = [&](const std::string& metric, const Uncertainty& uncertainty) {
    if (uncertainty.standard_error) {
      context.metric(metric + ".standard_error", *uncertainty.standard_error);
    }
    if (!uncertainty.interval) return;
    context.metric(metric + ".interval_low", uncertainty.interval->low);
    context.metric(metric + ".interval_high", uncertainty.interval->high);
  };
  const RecallResult& first = results.front().recall;
  for (std::size_t i = 0; i < first.ks.size(); ++i) {
    const std::string metric = recall_name(first.ks[i]);
    context.metric(metric, first.recall[i]);
    if (const auto error = first.uncertainty(i).standard_error) {
      context.metric(metric + ".standard_error", *error);
    }
    if (!first.chance.empty()) context.metric(metric + ".chance", first.chance[i]);
  }
  for (const MaskResult& result : results) {
    const std::string mask = to_string(result.mask) + ".";
    const RecallResult& recall = result.recall;
    for (std::size_t i = 0; i < recall.ks.size(); ++i) {
      const std::string metric = mask + recall_name(recall.ks[i]);
      report(metric, {recall.recall[i], recall.pessimistic[i], recall.optimistic[i]});
      report_uncertainty(metric, recall.uncertainty(i));
      if (!recall.chance.empty()) context.metric(metric + ".chance", recall.chance[i]);
    }
    const std::string mrr = mask + "mrr@" + std::to_string(recall.ks.back());
    report(mrr, recall.mrr);
    report_uncertainty(mrr, recall.mrr_uncertainty);
    if (recall.r_precision) {
      report(mask + "r_precision", *recall.r_precision);
      report_uncertainty(mask + "r_precision", recall.r_precision_uncertainty);
    }
    if (recall.map_at_r) {
      report(mask + "map@r", *recall.map_at_r);
      report_uncertainty(mask + "map@r", recall.map_at_r_uncertainty);
    }
    if (!ranking_metrics_) continue;
    for (std::size_t i = 0; i < recall.ks.size(); ++i) {
      for (const RankingMean& mean : ranking_means) {
        context.metric(mask + std::string(mean.metric) + "@" + std::to_string(recall.ks[i]),
                       (recall.ranking.*mean.values)[i]);
      }
    }
  }
}

void Recall::end(Context& context) {
  if (counted_.empty()) throw Error("no query was received, so there is no recall to report");
  std::string& difference = evaluation_.data_difference;
  difference = differences(lists_);
  const std::string of_gallery = gallery_difference_.value_or("");
  if (!of_gallery.empty() && of_gallery != difference) {
    difference += (difference.empty() ? "" : ", ") + ("in the gallery " + of_gallery);
  }
  evaluation_.published_data = published_data();
  std::vector<MaskResult> results;
  for (const Counted& counted : counted_) {
    results.push_back({counted.mask, counted.metric, counted.counter.result()});
  }
  report_numbers(results, context);
  leave_outcomes(results, context);
  for (const MaskResult& result : results) {
    if (!reads_labels(result.mask)) continue;
    context.warn("leaky: under mask " + to_string(result.mask) +
                 " the true category of every query narrows its search");
  }
  const RecallResult& first = results.front().recall;
  if (first.lone_queries > 0 && lone_ == LoneQueries::leave_out) {
    context.warn(counted(first.lone_queries, "query", "queries") + " of " + grouped(first.queries) +
                 " left out, because the gallery has no " +
                 (evaluation_.self_excluded ? "other " : "") +
                 "image of their item; the first is " + first_lone_ +
                 ". Check the names of items, or set lone_queries = \"miss\" to count them as "
                 "missed");
  }
  const std::string reason = incomparable(evaluation_, first);
  // A data set reports its differences itself; they are not repeated in every epoch.
  if (!reason.empty() && reason != evaluation_.data_difference) {
    context.warn("not comparable with published numbers: " + reason);
  }
  context.report("Recall@K", recall_table(evaluation_, results) +
                                 (ranking_metrics_ ? ranking_table(results) : std::string()) +
                                 published_beside(evaluation_, results));
  if (!per_category_) return;
  const std::vector<std::string> names = agreed_names(names_);
  for (const MaskResult& result : results) {
    if (result.recall.by_category.size() < 2) continue;
    context.report(
        "Recall@K by category, mask " + to_string(result.mask),
        category_table(result, names) + published_categories(evaluation_, result, names));
  }
}

}  // namespace seam::stages
