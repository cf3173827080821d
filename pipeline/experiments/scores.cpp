#include "pipeline/experiments/scores.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <utility>

#include "pipeline/text/json.hpp"
#include "pipeline/text/nearest.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace fs = std::filesystem;
namespace {

constexpr int score_format = 1;

/// One line of metrics.jsonl; infinity stands there as 1e999, which the parser refuses.
Json parse_line(const std::string& line, double& value) {
  constexpr std::string_view key = "\"value\":";
  const std::size_t at = line.find(key);
  if (at == std::string::npos) return Json::parse(line);
  const std::size_t from = at + key.size();
  const std::size_t size = line.find_first_of(",}", from) - from;
  const std::string number = line.substr(from, size);
  Json json = Json::parse(line.substr(0, from) + "null" + line.substr(from + size));
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (number == "1e999") {
    value = infinity;
  } else if (number == "-1e999") {
    value = -infinity;
  } else {
    const Json parsed = Json::parse(number);
    value = parsed.is_null() ? std::numeric_limits<double>::quiet_NaN() : parsed.get<double>();
  }
  return json;
}

/// Calls `take(json, value)` for the lines that `wanted` lets pass.
template <class Wanted, class Take>
void for_lines(const fs::path& run, Wanted wanted, Take take) {
  const fs::path file = run / "metrics.jsonl";
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw Error("cannot open '" + file.string() + "'");
  std::int64_t number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    if (stream.eof()) break;  // without a line break: a process is writing it, or was killed
    if (!wanted(line)) continue;
    try {
      double value = 0;
      const Json json = parse_line(line, value);
      take(json, value);
    } catch (const Json::exception& error) {
      throw Error(
          fmt::format("line {} of '{}' is damaged: {}", number, file.string(), error.what()));
    }
  }
}

std::string full_name(const Json& line) {
  return line.at("stage").get<std::string>() + "." + line.at("name").get<std::string>();
}

bool is_better(double value, double than, Better better) {
  if (std::isnan(value)) return false;
  if (std::isnan(than)) return true;
  return better == Better::higher ? value > than : value < than;
}

}  // namespace

std::vector<HeadlineScore> read_headlines(const fs::path& run) {
  const fs::path file = run / "score.json";
  if (!fs::exists(file)) return {};
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw Error("cannot open '" + file.string() + "'");
  try {
    const Json json = Json::parse(stream);
    if (json.at("format") != score_format) {
      throw Error(fmt::format("'{}' has format {}; this version of Seam reads format {}",
                              file.string(), json.at("format").dump(), score_format));
    }
    std::vector<HeadlineScore> headlines;
    for (const Json& score : json.at("scores")) {
      const auto better = score.at("better").get<std::string>();
      if (better != "higher" && better != "lower") {
        throw Error(fmt::format("'{}' says that '{}' is better; it may be \"higher\" or \"lower\"",
                                file.string(), better));
      }
      const auto text = [&](const char* key) {
        return score.contains(key) && score[key].is_string() ? score[key].get<std::string>()
                                                             : std::string();
      };
      headlines.push_back({score.at("metric").get<std::string>(),
                           better == "higher" ? Better::higher : Better::lower, text("flow"),
                           text("protocol")});
    }
    return headlines;
  } catch (const Json::exception& error) {
    throw Error("'" + file.string() + "' holds no scores of a run: " + error.what());
  }
}

std::vector<MetricValue> read_metric(const fs::path& run, const std::string& metric) {
  std::vector<MetricValue> values;
  std::vector<std::size_t> steps;
  const std::string last_word = metric.substr(metric.find('.') + 1);
  const std::string mark = "\"name\":" + json_line(last_word);
  for_lines(
      run, [&](const std::string& line) { return line.find(mark) != std::string::npos; },
      [&](const Json& line, double value) {
        if (full_name(line) != metric) return;
        MetricValue read{line.at("epoch").get<std::int64_t>(), line.at("flow").get<std::string>(),
                         line.contains("when") ? line["when"].get<std::string>() : std::string(),
                         value};
        const bool same = !values.empty() && values.back().epoch == read.epoch &&
                          values.back().flow == read.flow && values.back().when == read.when &&
                          line.at("step").get<std::size_t>() != 0;
        if (same) {
          values.back().value += value;
          ++steps.back();
        } else {
          values.push_back(std::move(read));
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
  for_lines(
      run, [](const std::string& line) { return line.find("\"step\":0,") != std::string::npos; },
      [&](const Json& line, double /*value*/) {
        const std::string name = full_name(line);
        if (std::ranges::find(names, name) == names.end()) names.push_back(name);
      });
  return names;
}

std::optional<MetricValue> choose_value(const std::vector<MetricValue>& values,
                                        const std::string& metric, const std::string& flow,
                                        WhichEpoch which, Better better) {
  std::vector<std::string> flows;
  std::optional<MetricValue> chosen;
  for (const MetricValue& value : values) {
    if (!flow.empty() && value.flow != flow) continue;
    if (std::ranges::find(flows, value.flow) == flows.end()) flows.push_back(value.flow);
    if (!chosen || which == WhichEpoch::last || is_better(value.value, chosen->value, better)) {
      chosen = value;
    }
  }
  if (flows.size() > 1) {
    throw Error(fmt::format("the metric '{}' is recorded by several flows ({}); choose one with "
                            "--metric FLOW:{}",
                            metric, enumerated(flows), metric),
                Fault::configuration);
  }
  return chosen;
}

}  // namespace seam::host
