#include "stages/retrieval/recall.hpp"

#include <span>

namespace seam::stages {

void Recall::declare(Declaration& d) {
  d.doc(
      "Recall@K over all queries of a flow, with the bounds that ties allow, under every mask that "
      "was "
      "searched. Says under which protocol, and when labels were read.");
  d.parameter("k", ks_, "the K of recall@K; the search must find as many neighbours").at_least(1);
  d.parameter("lone_queries", lone_, "queries whose item the gallery does not show",
              {{"leave_out", LoneQueries::leave_out}, {"miss", LoneQueries::miss}});
  d.parameter("per_category", per_category_, "whether to add a table by category");
  d.parameter("protocol", protocol_,
              "what the data is called in the report, such as 'inshop/img256'");
  d.parameter(
       "expected_queries", expected_queries_,
       "how many queries published numbers were measured with; with another count the report "
       "refuses comparison")
      .at_least(1);
  d.parameter("expected_gallery", expected_gallery_, "the same, for gallery images").at_least(1);
  d.needs(field::rankings);
  d.accepts(field::categories);
  d.upstream(searches_, "searches, which must find as many neighbours as the largest K");
}

void Recall::open(Context& /*context*/) {
  const RecallCounter counter(ks_);  // throws for a list that makes no sense
  for (const SearchDepth* search : searches_) {
    if (search->k < counter.largest_k()) {
      throw Error("recall@" + std::to_string(counter.largest_k()) +
                      " needs as many neighbours, and the search finds " +
                      std::to_string(search->k) + "; raise its k, or name smaller ones here",
                  Fault::configuration);
    }
  }
}

void Recall::begin(Context& /*context*/) {
  counted_.clear();
  evaluation_ = Evaluation();
  evaluation_.protocol = protocol_;
  evaluation_.expected_queries = expected_queries_;
  evaluation_.expected_gallery = expected_gallery_;
}

void Recall::process(const Packet& packet, Context& /*context*/) {
  const Rankings& rankings = packet[field::rankings];
  const bool categories = packet.has(field::categories);
  evaluation_.gallery_images = rankings.gallery_images;
  evaluation_.gallery_items = rankings.gallery_items;
  evaluation_.self_excluded = rankings.self_excluded;
  evaluation_.trainings_since_gallery = rankings.trainings_since_gallery;
  if (counted_.empty()) {
    for (const Ranking& ranking : rankings.by_mask) {
      counted_.push_back({ranking.mask, ranking.metric, RecallCounter(ks_, lone_)});
    }
  }
  for (std::size_t m = 0; m < rankings.by_mask.size(); ++m) {
    const Ranking& ranking = rankings.by_mask[m];
    const auto k = static_cast<std::size_t>(ranking.neighbours.k);
    const std::span<const std::int64_t> items(ranking.items);
    const std::span<const float> distances(ranking.neighbours.distances);
    for (std::size_t q = 0; q < rankings.item.size(); ++q) {
      RankedQuery query;
      query.items = items.subspan(q * k, k);
      query.distances = distances.subspan(q * k, k);
      query.tied_beyond = ranking.neighbours.tied_beyond[q];
      query.tied_beyond_relevant = ranking.neighbours.tied_beyond_relevant[q];
      query.relevant = rankings.relevant[q];
      query.item = rankings.item[q];
      query.category = categories ? packet[field::categories][q] : -1;
      counted_[m].counter.add(query);
    }
  }
}

void Recall::end(Context& context) {
  if (counted_.empty()) throw Error("no query arrived, so there is no recall to report");
  std::vector<MaskResult> results;
  for (const Counted& counted : counted_) {
    results.push_back({counted.mask, counted.metric, counted.counter.result()});
  }
  const RecallResult& first = results.front().recall;
  for (std::size_t i = 0; i < first.ks.size(); ++i) {
    context.metric("r@" + std::to_string(first.ks[i]), first.recall[i]);
  }
  for (const MaskResult& result : results) {
    const std::string mask = to_string(result.mask) + ".";
    const RecallResult& recall = result.recall;
    for (std::size_t i = 0; i < recall.ks.size(); ++i) {
      const std::string at = mask + "r@" + std::to_string(recall.ks[i]);
      context.metric(at, recall.recall[i]);
      context.metric(at + ".optimistic", recall.optimistic[i]);
      context.metric(at + ".pessimistic", recall.pessimistic[i]);
    }
    context.metric(mask + "mrr", recall.mrr);
    if (recall.r_precision) context.metric(mask + "r_precision", *recall.r_precision);
    if (recall.map_at_r) context.metric(mask + "map@r", *recall.map_at_r);
    if (reads_labels(result.mask)) {
      context.warn("leaky: under mask " + to_string(result.mask) +
                   " the true category of every query narrows its search");
    }
  }
  const std::string reason = incomparable(evaluation_, first);
  if (!reason.empty()) context.warn("not comparable with published numbers: " + reason);
  context.report("Recall@K", recall_table(evaluation_, results));
  if (!per_category_) return;
  for (const MaskResult& result : results) {
    if (result.recall.by_category.size() < 2) continue;
    context.report("Recall@K by category, mask " + to_string(result.mask), category_table(result));
  }
}

}  // namespace seam::stages
