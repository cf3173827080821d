#include "pipeline/experiments/metric_choice.hpp"

#include <tuple>

#include "pipeline/text/lists.hpp"
#include "pipeline/text/nearest.hpp"
#include "pipeline/text/refuse.hpp"

namespace seam::host {

MetricChoice::MetricChoice(const ComparisonChoice& choice, Comparison& comparison)
    : choice_(choice), comparison_(comparison) {
  std::tie(comparison.flow, comparison.metric) = flow_and_metric(choice.metric);
  comparison.which = choice.which;
}

void MetricChoice::add(const RunFolder& run, const std::vector<Score>& headlines) {
  any_run_ = run.path;
  if (headlines.empty()) return;
  if (choice_.metric.empty()) {
    const std::string& first = headlines.front().metric;
    if (!comparison_.metric.empty() && comparison_.metric != first) {
      refuse("the first metric of {} is '{}', that of {} is '{}'; choose one with --metric",
             first_name_, comparison_.metric, run.name, first);
    }
    comparison_.metric = first;
    first_name_ = first_name_.empty() ? run.name : first_name_;
  }
  const Score* own = find_in(headlines, comparison_.metric, &Score::metric);
  if (own == nullptr) return;
  if (comparison_.flow.empty()) comparison_.flow = own->flow;
  if (direction_ && *direction_ != own->better && !choice_.better) {
    refuse("the runs disagree on whether a higher or a lower '{}' is better; set --better",
           comparison_.metric);
  }
  direction_ = own->better;
}

void MetricChoice::settle() const {
  if (comparison_.metric.empty()) {
    refuse(
        "no run has a score.json, so there is no default metric; choose one with --metric "
        "STAGE.METRIC{}",
        known_metrics());
  }
  if (!direction_ && !choice_.better) {
    refuse(
        "no run records whether a higher or a lower '{}' is better; set --better higher or "
        "--better lower",
        comparison_.metric);
  }
  comparison_.better = choice_.better ? *choice_.better : *direction_;
}

std::string MetricChoice::known_metrics() const {
  if (any_run_.empty()) return {};
  const std::vector<std::string> names = metric_names(any_run_);
  return names.empty() ? std::string() : "; there are " + enumerated(names);
}

}  // namespace seam::host
