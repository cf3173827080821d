#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "pipeline/cli/verbs.hpp"
#include "pipeline/experiments/run_list.hpp"
#include "pipeline/text/json.hpp"
#include "pipeline/text/refuse.hpp"
#include "pipeline/text/table.hpp"
#include "pipeline/text/terminal.hpp"

namespace seam::host {
namespace {

struct Listed {
  RunFolder run;
  Parameters changed;
  std::optional<ShownScore> score;
};

std::vector<Listed> listed(const RunsArguments& arguments) {
  std::vector<Listed> list;
  std::vector<RunFolder> runs = find_runs(arguments.folder);
  const std::vector<Parameters> changed = changed_parameters(runs);
  for (std::size_t at = 0; at < runs.size(); ++at) {
    Listed& entry = list.emplace_back(Listed{std::move(runs[at]), changed[at], {}});
    try {
      entry.score = shown_score(entry.run, arguments.metric);
    } catch (const Error& error) {
      if (error.fault() == Fault::configuration) throw;  // --metric is wrong
      entry.run.note += (entry.run.note.empty() ? "" : "; ") + error.full_message();
    }
  }
  return list;
}

Json run_json(const Listed& entry) {
  Json json{{"name", entry.run.name},
            {"path", entry.run.path.string()},
            {"started", entry.run.started},
            {"state", state_text(entry.run.state)},
            {"note", entry.run.note},
            {"pipeline", entry.run.pipeline},
            {"epochs_done", entry.run.epochs_done},
            {"epochs", entry.run.epochs},
            {"score", nullptr},
            {"changed", entry.changed}};
  if (entry.score) {
    json["score"] = {{"metric", entry.score->metric},
                     {"epoch", entry.score->value.epoch},
                     {"value", entry.score->value.value}};
  }
  return json;
}

std::string runs_table(const std::vector<Listed>& list) {
  std::set<std::string> metrics;
  for (const Listed& entry : list) {
    if (entry.score) metrics.insert(entry.score->metric);
  }
  const bool one_metric = metrics.size() == 1;
  std::vector<std::vector<std::string>> rows;
  for (const Listed& entry : list) {
    std::string score;
    if (entry.score) {
      score = (one_metric ? "" : entry.score->metric + " ") +
              fmt::format("{:.4g}", entry.score->value.value);
    }
    std::string epochs;
    if (entry.run.epochs > 0)
      epochs = fmt::format("{}/{}", entry.run.epochs_done, entry.run.epochs);
    rows.push_back({entry.run.name, entry.run.started, state_text(entry.run.state), epochs, score,
                    settings_text(entry.changed)});
  }
  std::vector<TableColumn> columns{{"run", Align::left, Room::flexible},
                                   {"started"},
                                   {"state"},
                                   {"epochs", Align::right},
                                   {one_metric ? *metrics.begin() : "score", Align::right},
                                   {"parameters that differ", Align::left, Room::flexible}};
  const std::optional<std::size_t> width = terminal_width(STDOUT_FILENO);
  if (width && table_width(columns, rows) > *width) {  // names and parameters are more useful
    constexpr int started = 1;
    columns.erase(columns.begin() + started);
    for (std::vector<std::string>& row : rows) row.erase(row.begin() + started);
  }
  return table_text(columns, rows, width);
}

}  // namespace

ExitCode runs_verb(const RunsArguments& arguments) {
  const std::vector<Listed> list = listed(arguments);
  if (arguments.json) {
    std::cout << json_line(list_json(list, run_json)) << "\n";
    return ExitCode::success;
  }
  if (list.empty()) {
    std::cout << "no runs in '" << arguments.folder << "'\n";
    return ExitCode::success;
  }
  const auto has_score = [](const Listed& entry) { return entry.score.has_value(); };
  if (!arguments.metric.empty() && std::ranges::none_of(list, has_score)) {
    refuse(
        "no run has recorded '{}'; --metric takes [FLOW:]STAGE.METRIC, and a run's metrics.jsonl "
        "lists all metrics",
        arguments.metric);
  }
  std::cout << runs_table(list);
  for (const Listed& entry : list) {
    if (entry.run.note.empty() || entry.run.state == RunState::running) continue;
    std::cout << entry.run.name << ": " << entry.run.note << "\n";
  }
  return ExitCode::success;
}

}  // namespace seam::host
