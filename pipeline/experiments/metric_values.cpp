#include "pipeline/experiments/metric_values.hpp"

#include <algorithm>
#include <set>

#include "pipeline/run/metrics_file.hpp"
#include "pipeline/text/lists.hpp"
#include "pipeline/text/nearest.hpp"
#include "pipeline/text/refuse.hpp"

namespace seam::host {
namespace fs = std::filesystem;

std::vector<Score> read_headlines(const fs::path& run) {
  const fs::path file = run / "score.json";
  return fs::exists(file) ? read_scores(file) : std::vector<Score>();
}

std::vector<MetricValue> read_metric(const fs::path& run, const std::string& metric) {
  std::vector<MetricValue> values;
  std::vector<std::uint64_t> steps;
  read_metrics(run / "metrics.jsonl", [&](MetricLine&& line) {
    if (line.metric() != metric) return;
    const bool same = !values.empty() && values.back().epoch == line.epoch &&
                      values.back().flow == line.flow && values.back().when == line.when &&
                      line.step != 0;
    if (same) {
      values.back().value += line.value;
      ++steps.back();
    } else {
      values.push_back({line.epoch, std::move(line.flow), std::move(line.when), line.value});
      steps.push_back(1);
    }
  });
  for (std::size_t at = 0; at < values.size(); ++at) {
    values[at].value /= static_cast<double>(steps[at]);
  }
  return values;
}

std::vector<std::string> metric_names(const fs::path& run) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  read_metrics(run / "metrics.jsonl", [&](MetricLine&& line) {
    if (line.step == 0 && seen.insert(line.metric()).second) names.push_back(line.metric());
  });
  return names;
}

std::pair<std::string, std::string> flow_and_metric(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return {"", text};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

std::optional<MetricValue> choose_value(const std::vector<MetricValue>& values,
                                        const std::string& metric, const std::string& flow,
                                        WhichEpoch which, Better better) {
  std::vector<std::string> flows;
  std::optional<MetricValue> chosen;
  for (const MetricValue& value : values) {
    if (!flow.empty() && value.flow != flow) continue;
    add_unless_present(flows, value.flow);
    // The best value is that of an epoch; a value from before the first epoch counts only if there
    // is none from an epoch.
    const bool before = which == WhichEpoch::best && value.when == "before";
    if (chosen && before) continue;
    if (!chosen || which == WhichEpoch::last || chosen->when == "before" ||
        is_better(value.value, chosen->value, better)) {
      chosen = value;
    }
  }
  if (flows.size() > 1) {
    refuse("the metric '{}' is recorded by several flows ({}); choose one with --metric FLOW:{}",
           metric, enumerated(flows), metric);
  }
  return chosen;
}

bool is_cut(const std::vector<Score>& scores, const std::string& metric, const MetricValue& last) {
  return std::ranges::any_of(scores, [&](const Score& score) {
    return score.metric == metric && score.flow == last.flow &&
           (score.epoch != last.epoch || score.when != last.when);
  });
}

}  // namespace seam::host
