#include "pipeline/report/report_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "pipeline/config/parameters.hpp"
#include "pipeline/config/variants.hpp"
#include "pipeline/report/pictures.hpp"
#include "pipeline/text/lists.hpp"
#include "pipeline/text/parse.hpp"

namespace seam::host {
namespace fs = std::filesystem;
namespace {

/// Six digits are enough for a chart; metrics.jsonl has the exact numbers.
Json shortened(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
}

std::map<std::int64_t, std::size_t> points_by_epoch(const MetricSeries& series) {
  std::map<std::int64_t, std::size_t> counts;
  for (const MetricPoint& point : series.points) ++counts[point.epoch];
  return counts;
}

/// A metric's name as "MASK.r@K" or "r@K".
struct RecallName {
  std::string mask;
  std::int64_t k = 0;
};

std::optional<RecallName> recall_name(std::string_view name) {
  RecallName found;
  if (const std::size_t point = name.rfind('.'); point != std::string_view::npos) {
    found.mask = name.substr(0, point);
    name.remove_prefix(point + 1);
  }
  constexpr std::string_view mark = metric_name::recall_at;
  if (!name.starts_with(mark)) return std::nullopt;
  const auto k = number_in<decltype(found.k)>(name.substr(mark.size()));
  if (!k || *k < 1) return std::nullopt;
  found.k = *k;
  return found;
}

std::string report_prefix(const std::string& flow, const std::string& stage) {
  return flow + "-" + stage + "-";
}

/// The protocol of the mask in the stage's report: the last cell of the row that begins with the
/// mask in backquotes.
std::string protocol_in(const RunRecord& record, const std::string& flow, const std::string& stage,
                        const std::string& mask) {
  const std::string prefix = report_prefix(flow, stage);
  for (const ReportText& report : record.reports) {
    if (!report.name.starts_with(prefix)) continue;
    // Names may contain '-': "evaluate-recall-cross-recall-k" is of 'recall-cross', not of
    // 'recall'.
    const bool of_longer = std::ranges::any_of(record.metrics, [&](const MetricSeries& series) {
      const std::string other = report_prefix(series.flow, series.stage);
      return other.size() > prefix.size() && report.name.starts_with(other);
    });
    if (of_longer) continue;
    for (const std::string_view line : split(report.text, '\n')) {
      if (!line.starts_with("| " + mask + " |") || !line.ends_with("` |")) continue;
      const std::size_t close = line.size() - 3;
      const std::size_t open = line.rfind('`', close - 1);
      if (open != std::string_view::npos)
        return std::string(line.substr(open + 1, close - open - 1));
    }
  }
  return "";
}

Json score_of(const MetricSeries& series, std::string_view better, const std::string& protocol) {
  // The mean of each epoch, because some stages record a number per batch.
  std::map<std::int64_t, std::pair<double, std::size_t>> sums;
  for (const MetricPoint& point : series.points) {
    sums[point.epoch].first += point.value;
    ++sums[point.epoch].second;
  }
  const auto mean = [](const auto& entry) {
    return entry.second.first / static_cast<double>(entry.second.second);
  };
  std::optional<std::pair<std::int64_t, double>> best;
  for (const auto& entry : sums) {
    const double value = mean(entry);
    if (std::isnan(value)) continue;
    if (!best || (better == "higher" ? value > best->second : value < best->second)) {
      best = {entry.first, value};
    }
  }
  const double last = mean(*sums.rbegin());
  Json score{{"metric", series.stage + "." + series.name},
             {"value", last},
             {"better", better},
             {"flow", series.flow},
             {"epoch", sums.rbegin()->first}};
  if (!series.when.empty()) score["when"] = series.when;
  if (best) score["best"] = {{"value", best->second}, {"epoch", best->first}};
  if (!protocol.empty()) score["protocol"] = protocol;
  return score;
}

Json launch_json(const Launch& launch) {
  std::set<std::string> libtorch;
  for (const PluginUsed& plugin : launch.plugins) {
    if (plugin.libtorch != "none" && !plugin.libtorch.empty()) libtorch.insert(plugin.libtorch);
  }
  return {{"version", launch.version},    {"compiler", launch.compiler},
          {"started", launch.started},    {"file", launch.file},
          {"from", to_text(launch.from)}, {"evaluates", to_text(launch.evaluates)},
          {"libtorch", libtorch},         {"data", launch.data}};
}

Json settings_json(const std::vector<Setting>& settings) {
  return list_json(settings, [](const Setting& setting) -> Json {
    return {{"table", setting.table},
            {"key", setting.key},
            {"value", setting.value},
            {"default", setting.set_by == SetBy::default_value}};
  });
}

/// The run's own scores, each with the protocol that its stage reported, which is more precise than
/// the parameter `protocol`: it has the number of scored queries, for example.
Json with_protocols(const RunRecord& record) {
  Json scores = record.scores;
  for (Json& score : scores) {
    const auto metric = score.at("metric").get<std::string>();
    const std::size_t dot = metric.find('.');
    const std::size_t end = metric.find('.', dot + 1);
    if (dot == std::string::npos || end == std::string::npos) continue;
    const std::string mask = metric.substr(dot + 1, end - dot - 1);
    const std::string protocol =
        protocol_in(record, score.value("flow", std::string()), metric.substr(0, dot), mask);
    if (!protocol.empty()) score["protocol"] = protocol;
  }
  return scores;
}

Json run_json(const RunRecord& record, const std::string& label) {
  std::vector<std::string> notes = record.notes;
  Json pictures = read_pictures(record.folder, notes);
  Json reports = list_json(record.reports, [](const ReportText& report) -> Json {
    return {{"name", report.name}, {"moment", report.moment}, {"text", report.text}};
  });
  return {{"label", label},
          {"folder", fs::absolute(record.folder).lexically_normal().string()},
          {"launch", launch_json(record.launch)},
          {"summary", record.summary ? *record.summary : Json()},
          {"scores", record.scores.empty() ? scores_of(record) : with_protocols(record)},
          {"scores_from", record.scores.empty() ? "metrics.jsonl" : "score.json"},
          {"recall", recall_of(record.metrics)},
          {"curves", list_json(record.metrics, curve_of)},
          {"timing", record.timing},
          {"reports", std::move(reports)},
          {"pictures", std::move(pictures)},
          {"settings", settings_json(record.settings)},
          {"notes", notes}};
}

/// Properties of the machine and program of a run, compared like its settings.
std::vector<Setting> compared(const RunRecord& record) {
  std::vector<Setting> settings{{"program", "version", record.launch.version},
                                {"program", "compiler", record.launch.compiler}};
  for (const PluginUsed& plugin : record.launch.plugins) {
    const std::string name = fs::path(plugin.path).filename().string();
    settings.push_back({"plugin", name + " sha256", plugin.sha256.substr(0, 12)});
    if (plugin.libtorch != "none")
      settings.push_back({"plugin", name + " libtorch", plugin.libtorch});
  }
  for (const auto& [key, origin] :
       {std::pair("from", record.launch.from), std::pair("evaluates", record.launch.evaluates)}) {
    if (const std::string text = to_text(origin); !text.empty()) {
      settings.push_back({"run", key, text});
    }
  }
  for (const auto* files : {&record.launch.data, &record.launch.initial}) {
    for (const auto& [key, hash] : *files) {
      settings.push_back({"", key + " (content)", hash.substr(0, 12)});
    }
  }
  for (const auto& [key, value] : record.parameters) {
    if (is_variant_key(key)) settings.push_back({"", key, value});
  }
  settings.insert(settings.end(), record.settings.begin(), record.settings.end());
  return settings;
}

}  // namespace

Json curve_of(const MetricSeries& series) {
  const std::map<std::int64_t, std::size_t> counts = points_by_epoch(series);
  const bool by_step = std::ranges::any_of(counts, [](const auto& of) { return of.second > 1; });
  const std::size_t stretch = (series.points.size() + most_points - 1) / most_points;
  Json x = Json::array();
  Json y = Json::array();
  std::size_t not_finite = 0;
  std::int64_t epoch = -1;
  std::size_t in_epoch = 0;
  double x_sum = 0;
  double y_sum = 0;
  std::size_t finite = 0;
  std::size_t taken = 0;
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    const MetricPoint& point = series.points[i];
    in_epoch = point.epoch == epoch ? in_epoch + 1 : 0;
    epoch = point.epoch;
    const double within =
        by_step ? (static_cast<double>(in_epoch) + 0.5) / static_cast<double>(counts.at(epoch)) : 1;
    x_sum += series.when == "before" && !by_step ? 0 : static_cast<double>(epoch) + within;
    ++taken;
    if (std::isfinite(point.value)) {
      y_sum += point.value;
      ++finite;
    } else {
      ++not_finite;
    }
    if (taken < stretch && i + 1 < series.points.size()) continue;
    x.push_back(shortened(x_sum / static_cast<double>(taken)));
    y.push_back(finite == 0 ? Json() : shortened(y_sum / static_cast<double>(finite)));
    x_sum = y_sum = 0;
    finite = taken = 0;
  }
  Json curve{{"flow", series.flow},        {"stage", series.stage},
             {"name", series.name},        {"kind", by_step ? "steps" : "epochs"},
             {"x", std::move(x)},          {"y", std::move(y)},
             {"steps_per_point", stretch}, {"not_finite", not_finite}};
  if (!series.when.empty()) curve["when"] = series.when;
  return curve;
}

Json recall_of(const std::vector<MetricSeries>& metrics) {
  struct Found {
    const MetricSeries* series;
    std::string mask;
    std::map<std::int64_t, MetricPoint> last;  // by K
  };
  std::vector<Found> found;
  for (const MetricSeries& series : metrics) {
    const auto name = recall_name(series.name);
    if (!name || series.points.empty()) continue;
    const auto same = [&](const Found& each) {
      return each.series->stage == series.stage && each.series->flow == series.flow &&
             each.series->when == series.when && each.mask == name->mask;
    };
    auto at = std::ranges::find_if(found, same);
    if (at == found.end()) at = found.insert(at, {&series, name->mask, {}});
    at->last[name->k] = series.points.back();
  }
  // A stage's `r@K` repeats the numbers of its first mask.
  const auto is_repeated = [&](const Found& each) {
    return each.mask.empty() && std::ranges::any_of(found, [&](const Found& other) {
             return !other.mask.empty() && other.series->stage == each.series->stage &&
                    other.series->flow == each.series->flow;
           });
  };
  Json recall = Json::array();
  for (const Found& each : found) {
    if (is_repeated(each)) continue;
    Json ks = Json::array();
    Json values = Json::array();
    for (const auto& [k, point] : each.last) {
      ks.push_back(k);
      values.push_back(shortened(point.value));
    }
    recall.push_back({{"stage", each.series->stage},
                      {"mask", each.mask},
                      {"when", each.series->when},
                      {"flow", each.series->flow},
                      {"epoch", each.last.begin()->second.epoch},
                      {"k", std::move(ks)},
                      {"value", std::move(values)}});
  }
  return recall;
}

Json scores_of(const RunRecord& record) {
  Json scores = Json::array();
  const Json recalls = recall_of(record.metrics);
  const bool later = std::ranges::any_of(
      recalls, [](const Json& recall) { return recall.at("when") != "before"; });
  for (const Json& recall : recalls) {
    if (later && recall.at("when") == "before") continue;  // of the untrained network
    const auto mask = recall.at("mask").get<std::string>();
    const std::string name = (mask.empty() ? "" : mask + ".") +
                             std::string(metric_name::recall_at) +
                             std::to_string(recall.at("k").front().get<std::int64_t>());
    const auto series = std::ranges::find_if(record.metrics, [&](const MetricSeries& each) {
      return each.name == name && recall.at("stage") == each.stage &&
             recall.at("flow") == each.flow && recall.at("when") == each.when;
    });
    scores.push_back(
        score_of(*series, "higher", protocol_in(record, series->flow, series->stage, mask)));
  }
  if (!scores.empty()) return scores;
  for (const MetricSeries& series : record.metrics) {
    if (series.name == metric_name::loss) scores.push_back(score_of(series, "lower", ""));
  }
  return scores;
}

Json report_data(const std::vector<RunRecord>& records, const std::vector<std::string>& labels) {
  Json runs = Json::array();
  std::vector<std::vector<Setting>> settings;
  for (std::size_t run = 0; run < records.size(); ++run) {
    runs.push_back(run_json(records[run], labels[run]));
    settings.push_back(compared(records[run]));
  }
  const std::set<std::string> decided = decided_by_variants(
      mapped(records, [](const RunRecord& record) { return &record.parameters; }));
  Json differing = Json::array();
  for (const SettingDifference& difference : differences(settings)) {
    if (difference.name.starts_with("chosen.") || decided.contains(difference.name)) continue;
    Json values = list_json(difference.values,
                            [](const auto& value) { return value ? Json(*value) : Json(); });
    differing.push_back({{"name", difference.name}, {"values", std::move(values)}});
  }
  return {{"runs", std::move(runs)}, {"differences", std::move(differing)}};
}

std::vector<std::string> labels_of(const std::vector<fs::path>& folders) {
  const auto name = [](const fs::path& folder) {
    return fs::absolute(folder / "").lexically_normal().parent_path().filename().string();
  };
  std::map<std::string, int> times;
  for (const fs::path& folder : folders) ++times[name(folder)];
  std::vector<std::string> labels;
  for (const fs::path& folder : folders) {
    labels.push_back(times[name(folder)] > 1 ? folder.string() : name(folder));
  }
  return labels;
}

}  // namespace seam::host
