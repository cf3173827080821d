/// The stage at the end of an evaluation: recall@K of all queries, as metrics and as a table.
///
///     rankings, items, categories ──► [ retrieval.recall ] ──► metrics, report
#pragma once

#include <seam/category_names.hpp>
#include <seam/reference.hpp>
#include <seam/retrieval.hpp>
#include <seam/stage.hpp>

#include "stages/counted_once.hpp"
#include "stages/export/outcomes.hpp"
#include "stages/picture_paths.hpp"
#include "stages/published_lists.hpp"
#include "stages/retrieval/recall_at_k.hpp"
#include "stages/retrieval/recall_report.hpp"
#include "stages/retrieval/searched_gallery.hpp"
#include "stages/served_items.hpp"

namespace seam::stages {

/// Reports `r@K` of the first mask, and for every mask `<mask>.r@K`, `<mask>.mrr@K` with the
/// largest K, `.r_precision` and `.map@r`. Each also has `.optimistic` and `.pessimistic`, the
/// bounds over ties, and `.standard_error`, `.interval_low` and `.interval_high` (95 %); recall
/// also has `.chance`. All are fractions. With `ranking_metrics`, also reports those of
/// RankingMeans.
class Recall final : public Sink {
 public:
  static constexpr std::string_view name = "retrieval.recall";

  void declare(Declaration& d) override;
  void open(Context& context) override;
  void begin(Context& context) override;
  void process(const Packet& packet, Context& context) override;
  void end(Context& context) override;

 private:
  struct Counted {
    Mask mask;
    Metric metric;
    RecallCounter counter;
  };
  void declare_headlines(Declaration& d) const;
  void begin_with(const retrieval::Rankings& rankings);
  void check_same_search(const retrieval::Rankings& rankings) const;
  void check_searched(const SearchedGallery& searched, std::size_t queries);
  void check_queries(const Packet& packet, std::size_t queries);
  [[nodiscard]] std::string published_data() const;
  /// The batch's queries, without their values.
  [[nodiscard]] static std::vector<Outcome> outcomes_of(const Packet& packet,
                                                        const retrieval::Rankings& rankings);
  static void note_values(const std::optional<QueryScore>& score, std::span<const std::int64_t> ks,
                          Outcome& outcome);
  void leave_outcomes(const std::vector<MaskResult>& results, const Context& context);
  void report_numbers(const std::vector<MaskResult>& results, Context& context) const;

  std::vector<std::int64_t> ks_{1, 5, 10, 20, 30, 40, 50};
  LoneQueries lone_ = LoneQueries::leave_out;
  bool per_category_ = true;
  bool ranking_metrics_ = false;
  std::string protocol_;
  Refs<CategoryNames> names_;
  Refs<PublishedLists> lists_;
  Ref<ServedItems> trained_on_;
  Expectation expected_;
  Evaluation evaluation_;
  std::vector<Counted> counted_;
  CountedOnce pictures_;
  std::vector<Outcome>
      outcomes_;            ///< of all queries, by mask and then in the order of note_values()
  std::string first_lone_;  ///< the first query whose item is not in the gallery
  std::optional<std::string> gallery_difference_;  ///< from the first batch with this information
};

}  // namespace seam::stages
