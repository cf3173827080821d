#include "pipeline/run/scores.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "pipeline/run/files.hpp"
#include "pipeline/run/metrics_file.hpp"
#include "pipeline/run/run_stages.hpp"
#include "pipeline/run/schedule.hpp"
#include "pipeline/text/json.hpp"
#include "pipeline/text/lists.hpp"
#include "seam/error.hpp"
#include "seam/name_pattern.hpp"

namespace seam::host {
namespace {

constexpr int score_format = 1;  // of score.json
constexpr std::string_view error_suffix = ".standard_error";
constexpr std::string_view chance_suffix = ".chance";

/// A headline as one flow recorded it: the stage's position in the flow, the headline's in its
/// declaration.
struct RecordedHeadline {
  std::size_t stage = 0;
  std::size_t headline = 0;
  std::string metric;  // "stage.metric"
  Better better = Better::higher;
};

/// In order of importance.
std::vector<RecordedHeadline> recorded_headlines(const CheckedPipeline& pipeline,
                                                 const FlowSpec& flow, const FlowMeans& means) {
  std::vector<RecordedHeadline> found;
  std::set<std::string> seen;
  for (std::size_t at = 0; at < flow.nodes.size(); ++at) {
    const std::string prefix = flow.nodes[at].stage + ".";
    const auto& headlines = pipeline.stages.at(flow.nodes[at].stage)->description().headlines;
    for (std::size_t h = 0; h < headlines.size(); ++h) {
      for (auto mean = means.lower_bound(prefix);
           mean != means.end() && mean->first.starts_with(prefix); ++mean) {
        const std::string_view metric = std::string_view(mean->first).substr(prefix.size());
        if (metric.ends_with(error_suffix)) continue;
        if (!matches(headlines[h].metric, metric) || !seen.insert(mean->first).second) continue;
        found.push_back({at, h, mean->first, headlines[h].better});
      }
    }
  }
  return found;
}

/// "recall" of "recall.none.r@1".
std::string stage_of(const std::string& metric) {
  return metric.substr(0, metric.find('.'));
}

/// The standard error of a value that was recorded once. A mean of several values has a different
/// error.
std::optional<double> standard_error_of(const FlowMeans& means, const std::string& metric) {
  const auto value = means.find(metric);
  const auto error = means.find(metric + std::string(error_suffix));
  if (error == means.end() || error->second.count != 1 || value->second.count != 1 ||
      !std::isfinite(error->second.value) || error->second.value < 0) {
    return std::nullopt;
  }
  return error->second.value;
}

/// Groups the lines of metrics.jsonl by the flows that wrote them.
class FlowsOfMetrics {
 public:
  explicit FlowsOfMetrics(Scores& scores) : scores_(scores) {}

  void add(MetricLine&& line) {
    const bool goes_on = line.step != 0 && !values_.empty() && line.epoch == line_.epoch &&
                         line.flow == line_.flow && line.when == line_.when &&
                         line.metric() == line_.metric();
    if (!goes_on) end_metric();
    values_.push_back(line.value);
    line_ = std::move(line);
  }

  void end() {
    end_metric();
    end_flow();
  }

 private:
  /// Adds the metric, whose lines are complete, to its flow.
  void end_metric() {
    if (values_.empty()) return;
    const std::string metric = line_.metric();
    if (line_.epoch != epoch_ || line_.flow != flow_ || line_.when != when_ ||
        means_.contains(metric)) {
      end_flow();
    }
    epoch_ = line_.epoch;
    flow_ = line_.flow;
    when_ = line_.when;
    means_[metric] = {mean(values_), values_.size()};
    values_.clear();
  }

  void end_flow() {
    if (!means_.empty()) scores_.flow_ended(flow_, epoch_, when_, means_);
    means_.clear();
  }

  Scores& scores_;   // the caller's, outlives this
  MetricLine line_;  // the newest
  std::vector<double> values_;
  std::int64_t epoch_ = 0;  // of the flow that is read
  std::string flow_;
  std::string when_;
  FlowMeans means_;
};

Json score_entry(const Score& score) {
  Json json{{"metric", score.metric},
            {"value", score.value},
            {"standard_error", score.standard_error ? Json(*score.standard_error) : Json()},
            {"better", score.better == Better::higher ? "higher" : "lower"},
            {"flow", score.flow},
            {"epoch", score.epoch},
            {"best", score.best ? Json{{"value", score.best->value}, {"epoch", score.best->epoch}}
                                : Json()},
            {"protocol", score.protocol.empty() ? Json() : Json(score.protocol)}};
  if (!score.when.empty()) json["when"] = score.when;
  for (const Score::Beside& one : score.beside) {
    json["beside"].push_back(
        {{"name", one.name},
         {"value", one.value},
         {"standard_error", one.standard_error ? Json(*one.standard_error) : Json()}});
  }
  json["selected_on"] = word_of(score.selected_on);
  if (!score.weights.empty()) json["weights"] = to_json(score.weights);
  for (const LabelRead& read : score.labels_read) {
    json["labels_read"].push_back({{"stage", read.stage}, {"field", read.field}});
  }
  for (const UntrainedField& one : score.untrained) {
    json["untrained"].push_back(
        {{"stage", one.stage}, {"field", one.field}, {"model", one.model}, {"scores", one.scores}});
  }
  return json;
}

Score score_of(const Json& json) {
  const auto number = [](const Json& value) {
    return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
  };
  Score score;
  score.metric = json.at("metric").get<std::string>();
  score.value = number(json.at("value"));
  if (const Json& error = json.at("standard_error"); !error.is_null()) {
    score.standard_error = error.get<double>();
  }
  static const Json words{{"higher", Better::higher}, {"lower", Better::lower}};
  score.better = words.at(json.at("better").get<std::string>()).get<Better>();
  score.flow = json.at("flow").get<std::string>();
  score.epoch = json.at("epoch").get<std::int64_t>();
  if (const Json& best = json.at("best"); !best.is_null()) {
    score.best = {number(best.at("value")), best.at("epoch").get<std::int64_t>()};
  }
  if (const Json& protocol = json.at("protocol"); !protocol.is_null()) {
    score.protocol = protocol.get<std::string>();
  }
  score.when = json.value("when", std::string());
  // Runs of earlier versions do not have the following keys.
  for (const Json& one : json.value("beside", Json::array())) {
    const Json& error = one.at("standard_error");
    score.beside.push_back({one.at("name").get<std::string>(), number(one.at("value")),
                            error.is_null() ? std::nullopt : std::optional(error.get<double>())});
  }
  score.selected_on = selected_on_from(json.value("selected_on", std::string()));
  if (json.contains("weights")) score.weights = selected_weights_from(json.at("weights"));
  for (const Json& read : json.value("labels_read", Json::array())) {
    score.labels_read.push_back(
        {score.flow, read.at("stage").get<std::string>(), read.at("field").get<std::string>()});
  }
  for (const Json& one : json.value("untrained", Json::array())) {
    score.untrained.push_back(
        {score.flow, one.at("stage").get<std::string>(), one.at("field").get<std::string>(),
         one.at("model").get<std::string>(), one.at("scores").get<std::string>()});
  }
  return score;
}

}  // namespace

bool Scores::flow_ended(const std::string& flow, std::int64_t epoch, const std::string& when,
                        const FlowMeans& means) {
  const PipelineSpec& spec = pipeline_.spec;
  const auto found = std::ranges::find(spec.flows, flow, &FlowSpec::name);
  if (found == spec.flows.end()) return false;  // resolved.toml has been changed
  std::vector<RecordedHeadline> recorded = recorded_headlines(pipeline_, *found, means);
  const int training = trains(pipeline_, *found) ? 2 : 1;
  const auto position = static_cast<std::size_t>(found - spec.flows.begin());
  std::vector<SelectedWeights> weights;
  if (!chosen_.empty()) weights = selected(chosen_, data_of(*found));
  std::vector<LabelRead> reads = labels_read(pipeline_);
  std::erase_if(reads, [&](const LabelRead& read) { return read.flow != flow; });
  std::vector<UntrainedField> untrained = pipeline_.untrained;
  std::erase_if(untrained, [&](const UntrainedField& one) { return one.flow != flow; });
  bool noted = false;
  const auto add = [&](const Rank& rank, const std::string& metric, Better better) {
    Score score;
    score.metric = metric;
    score.value = means.at(metric).value;
    score.standard_error = standard_error_of(means, metric);
    score.better = better;
    score.flow = flow;
    score.epoch = epoch;
    score.when = when;
    score.protocol = protocol_of(pipeline_, stage_of(metric));
    score.weights = weights;
    if (const auto chance = means.find(metric + std::string(chance_suffix));
        chance != means.end()) {
      score.beside.push_back({"chance", chance->second.value, std::nullopt});
    }
    score.labels_read = reads;
    score.untrained = untrained;
    for (const SelectedWeights& one : weights) {
      score.selected_on = std::max(score.selected_on, one.selected_on);
    }
    note(rank, std::move(score));
    noted = true;
  };
  if (const auto& rule = spec.schedule.stop_early; rule && means.contains(rule->metric)) {
    std::erase_if(recorded,
                  [&](const RecordedHeadline& one) { return one.metric == rule->metric; });
    add({0, position, 0, 0, rule->metric}, rule->metric,
        rule->goal == Goal::highest ? Better::higher : Better::lower);
  }
  for (const RecordedHeadline& one : recorded) {
    add({training, position, one.stage, one.headline, one.metric}, one.metric, one.better);
  }
  return noted;
}

const std::string& Scores::data_of(const FlowSpec& flow) {
  const auto known = data_.find(flow.name);
  if (known != data_.end()) return known->second;
  return data_.emplace(flow.name, measured_data(pipeline_, flow)).first->second;
}

void Scores::note(const Rank& rank, Score score) {
  if (const auto before = scores_.find(rank); before != scores_.end()) {
    score.best = before->second.best;
  }
  // A value measured before the epochs does not belong to an epoch.
  if (score.when != "before" && !std::isnan(score.value) &&
      (!score.best || is_better(score.value, score.best->value, score.better))) {
    score.best = {score.value, score.epoch};
  }
  if (score.when == "before") before_[rank] = score;
  if (!pipeline_.spec.schedule.floors.empty() && !kinds_.contains(rank)) {
    kinds_[rank] = kind_of(score);
  }
  scores_[rank] = std::move(score);
}

bool Scores::is_floor(const Score& score) const {
  return contains(pipeline_.spec.schedule.floors, stage_of(score.metric));
}

std::string Scores::kind_of(const Score& score) {
  const std::string stage = stage_of(score.metric);
  const auto spec = std::ranges::find(pipeline_.spec.stages, stage, &StageSpec::name);
  const auto [data, unknown] = compared_data_.try_emplace({score.flow, stage});  // reads lists
  if (unknown) {
    data->second = compared_data(pipeline_, flow_named(pipeline_.spec, score.flow), stage);
  }
  return spec->use + score.metric.substr(stage.size()) + "\n" + score.protocol + "\n" +
         data->second;
}

void Scores::restore(const std::filesystem::path& metrics, std::uint64_t size) {
  FlowsOfMetrics flows(*this);
  read_metrics(
      metrics, [&](MetricLine&& line) { flows.add(std::move(line)); }, size);
  flows.end();
}

std::vector<Score> Scores::list() const {
  std::vector<Score> list;
  for (const auto& [rank, score] : scores_) {
    if (is_floor(score)) continue;
    list.push_back(score);
    std::vector<Score::Beside>& beside = list.back().beside;
    if (const auto before = before_.find(rank); before != before_.end() && score.when != "before") {
      beside.push_back({"before", before->second.value, before->second.standard_error});
    }
    for (const auto& [other_rank, floor] : scores_) {
      if (is_floor(floor) && kinds_.at(other_rank) == kinds_.at(rank)) {
        beside.push_back({stage_of(floor.metric), floor.value, floor.standard_error});
      }
    }
  }
  return list;
}

std::vector<std::string> Scores::lone_floors() const {
  const std::vector<Score> scores = list();
  if (scores.empty()) return {};
  std::vector<std::string> lone = pipeline_.spec.schedule.floors;
  for (const Score& score : scores) {
    for (const Score::Beside& beside : score.beside) std::erase(lone, beside.name);
  }
  return lone;
}

bool is_clearly_better(const Score& score, const Score::Beside& beside) {
  constexpr double errors = 2;
  const double gain =
      score.better == Better::higher ? score.value - beside.value : beside.value - score.value;
  return gain > 0 && gain >= errors * std::hypot(score.standard_error.value_or(0),
                                                 beside.standard_error.value_or(0));
}

bool is_better(double value, double than, Better better) {
  if (std::isnan(value)) return false;
  if (std::isnan(than)) return true;
  return better == Better::higher ? value > than : value < than;
}

std::vector<std::string> headlines_of(const CheckedPipeline& pipeline, const FlowSpec& flow,
                                      const FlowMeans& means) {
  return mapped(recorded_headlines(pipeline, flow, means), &RecordedHeadline::metric);
}

std::string score_json(const std::vector<Score>& scores) {
  return json_line({{"format", score_format}, {"scores", list_json(scores, score_entry)}}) + "\n";
}

std::vector<Score> read_scores(const std::filesystem::path& file) {
  const auto unreadable = [&](const std::string& why) {
    return Error("'" + file.string() + "' is not a valid score.json: " + why);
  };
  try {
    const Json root = parse_json(read_text_file(file));
    if (const auto number = root.at("format").get<int>(); number != score_format) {
      throw unreadable(fmt::format("it has format {}, and this version of Seam reads format {}",
                                   number, score_format));
    }
    return mapped(root.at("scores"), score_of);
  } catch (const Json::exception& error) {
    throw unreadable(error.what());
  }
}

}  // namespace seam::host
