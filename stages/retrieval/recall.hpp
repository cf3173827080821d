/// The stage at the end of an evaluation: recall@K of all queries, as metrics and as a table.
///
///     rankings, items, categories ──► [ retrieval.recall ] ──► metrics, report
#pragma once

#include <cstdint>
#include <optional>
#include <seam/stage.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "stages/retrieval/ranking.hpp"
#include "stages/retrieval/recall_at_k.hpp"
#include "stages/retrieval/recall_report.hpp"

namespace seam::stages {

/// Reports `r@K` of the first mask, and of every mask `<mask>.r@K`, the bounds over ties
/// `<mask>.r@K.optimistic` and `.pessimistic`, `<mask>.mrr`, `.r_precision` and `.map@r`;
/// fractions.
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

  std::vector<std::int64_t> ks_{1, 5, 10, 20, 30, 40, 50};
  LoneQueries lone_ = LoneQueries::leave_out;
  bool per_category_ = true;
  std::string protocol_;
  std::optional<std::int64_t> expected_queries_;
  std::optional<std::int64_t> expected_gallery_;
  Refs<SearchDepth> searches_;
  Evaluation evaluation_;
  std::vector<Counted> counted_;
};

}  // namespace seam::stages
