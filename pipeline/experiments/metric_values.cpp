#include "pipeline/experiments/metric_values.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "pipeline/run/metrics_file.hpp"
#include "pipeline/text/lists.hpp"
#include "pipeline/text/nearest.hpp"
#include "pipeline/text/refuse.hpp"

namespace seam::host {
namespace fs = std::filesystem;
namespace {

using ValuesByMetric = std::map<std::string, std::vector<MetricValue>>;

/// read_metric() of these metrics.
ValuesByMetric read_values(const fs::path& run, const std::set<std::string>& metrics) {
  ValuesByMetric values;
  std::map<std::string, std::vector<std::uint64_t>> steps;
  read_metrics(run / "metrics.jsonl", [&](MetricLine&& line) {
    const std::string metric = line.metric();
    if (!metrics.contains(metric)) return;
    std::vector<MetricValue>& own = values[metric];
    const bool same = !own.empty() && own.back().epoch == line.epoch &&
                      own.back().flow == line.flow && own.back().when == line.when &&
                      line.step != 0;
    if (same) {
      own.back().value += line.value;
      ++steps[metric].back();
    } else {
      own.push_back({line.epoch, std::move(line.flow), std::move(line.when), line.value});
      steps[metric].push_back(1);
    }
  });
  for (auto& [metric, own] : values) {
    for (std::size_t at = 0; at < own.size(); ++at) {
      own[at].value /= static_cast<double>(steps[metric][at]);
    }
  }
  return values;
}

/// A score.json does not tell NaN from infinity.
bool is_value_of(const Score& score, double value) {
  return score.value == value || (std::isnan(score.value) && !std::isfinite(value));
}

}  // namespace

std::vector<Score> read_headlines(const fs::path& run) {
  const fs::path file = run / "score.json";
  return fs::exists(file) ? read_scores(file) : std::vector<Score>();
}

std::vector<MetricValue> read_metric(const fs::path& run, const std::string& metric) {
  return std::move(read_values(run, {metric})[metric]);
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

bool is_cut(const fs::path& run, const std::vector<Score>& scores) {
  std::set<std::string> metrics;
  for (const Score& score : scores) metrics.insert(score.metric);
  ValuesByMetric values = read_values(run, metrics);
  return std::ranges::any_of(scores, [&](const Score& score) {
    const std::vector<MetricValue>& own = values[score.metric];
    const auto last = std::find_if(own.rbegin(), own.rend(), [&](const MetricValue& value) {
      return value.flow == score.flow;
    });
    return last == own.rend() || last->epoch != score.epoch || last->when != score.when ||
           !is_value_of(score, last->value);
  });
}

}  // namespace seam::host
