#include "pipeline/report/run_record.hpp"

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "pipeline/run/files.hpp"
#include "pipeline/run/metrics_file.hpp"
#include "pipeline/run/scores.hpp"
#include "pipeline/text/refuse.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace fs = std::filesystem;
namespace {

std::string left_out(const std::string& file) {
  return "The last line of " + file + " is incomplete and was skipped.";
}

/// A run in progress may have written only part of the last line.
void read_timing(RunRecord& record) {
  const fs::path file = record.folder / "timing.jsonl";
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    record.notes.emplace_back("There is no timing.jsonl in the folder.");
    return;
  }
  std::size_t number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    if (stream.eof()) {
      record.notes.push_back(left_out("timing.jsonl"));
      break;
    }
    try {
      record.timing.push_back(parse_json(line));
    } catch (const Json::exception& error) {
      throw Error(fmt::format("{}:{}: this line is not a valid record: {}", file.string(), number,
                              error.what()),
                  Fault::data);
    }
  }
  if (stream.bad()) throw Error("cannot read '" + file.string() + "'", Fault::data);
}

void read_metrics(RunRecord& record) {
  std::map<std::tuple<std::string, std::string, std::string, std::string>, std::size_t> place;
  const fs::path file = record.folder / "metrics.jsonl";
  if (!fs::exists(file)) {
    record.notes.emplace_back("There is no metrics.jsonl in the folder.");
    return;
  }
  const LastLine last = seam::host::read_metrics(file, [&](MetricLine&& line) {
    MetricSeries series{line.flow, line.stage, line.name, line.when, {}};
    const auto [at, fresh] = place.try_emplace(
        {series.flow, series.stage, series.name, series.when}, record.metrics.size());
    if (fresh) record.metrics.push_back(std::move(series));
    record.metrics[at->second].points.push_back({line.epoch, line.value});
  });
  if (last == LastLine::incomplete) record.notes.push_back(left_out("metrics.jsonl"));
}

Json read_json(const fs::path& file) {
  try {
    return parse_json(read_text_file(file));
  } catch (const Json::exception& error) {
    throw Error("'" + file.string() + "' is not valid JSON: " + error.what(), Fault::data);
  }
}

void read_scores(RunRecord& record) {
  const fs::path file = record.folder / "score.json";
  if (!fs::exists(file)) return;
  static_cast<void>(seam::host::read_scores(file));  // throws if the file is invalid
  const Json root = read_json(file);
  for (const Json& score : root.at("scores")) record.scores.push_back(score);
}

/// "epoch-0003" of "epoch-0003-evaluate-recall-recall-k".
std::string moment_of(const std::string& name) {
  for (const std::string_view word : {"before", "after"}) {
    if (name.starts_with(word) && name.substr(word.size()).starts_with('-'))
      return std::string(word);
  }
  constexpr std::string_view epoch = "epoch-";
  if (!name.starts_with(epoch)) return "";
  const std::size_t end = name.find_first_not_of("0123456789", epoch.size());
  const bool numbered = end != std::string::npos && end > epoch.size() && name[end] == '-';
  return numbered ? name.substr(0, end) : std::string();
}

/// Epochs come after "before" and before "after"; a longer number is larger.
bool is_later(const std::string& moment, const std::string& than) {
  const auto rank = [](const std::string& text) {
    return std::tuple(text == "after" ? 2 : text == "before" ? 0 : 1, text.size(), text);
  };
  return rank(moment) > rank(than);
}

void read_reports(RunRecord& record) {
  const fs::path folder = record.folder / "reports";
  if (!fs::is_directory(folder)) return;
  std::map<std::string, std::string> latest;  // moment by name
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".md") continue;
    const std::string stem = entry.path().stem().string();
    const std::string moment = moment_of(stem);
    if (moment.empty()) continue;  // no file of a run
    const auto [at, fresh] = latest.try_emplace(stem.substr(moment.size() + 1), moment);
    if (!fresh && is_later(moment, at->second)) at->second = moment;
  }
  for (const auto& [name, moment] : latest) {
    record.reports.push_back(
        {name, moment, read_text_file(folder / (moment + "-" + name + ".md"))});
  }
}

}  // namespace

RunRecord read_record(const fs::path& folder) {
  RunRecord record;
  record.folder = folder;
  const fs::path resolved = folder / "resolved.toml";
  if (!fs::exists(resolved)) {
    refuse(
        "'{}' is not a run folder: it has no resolved.toml; pass a folder written by `seam run`, "
        "such as runs/demo-20260301-093000-1, or a run inside a sweep folder",
        folder.string());
  }
  record.launch = read_launch(folder);
  const std::string text = read_text_file(resolved);
  record.settings = read_settings(text, resolved.string());
  record.parameters = parameters_of(text, resolved.string());
  read_metrics(record);
  read_timing(record);
  const fs::path summary = folder / "summary.json";
  if (fs::exists(summary)) {
    record.summary = read_json(summary);
    if (!record.summary->is_object()) {
      throw Error("'" + summary.string() + "' is not the summary of a run", Fault::data);
    }
  }
  read_scores(record);
  read_reports(record);
  return record;
}

}  // namespace seam::host
