#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "pipeline/cli/verbs.hpp"
#include "pipeline/experiments/run_list.hpp"
#include "pipeline/report/page.hpp"
#include "pipeline/report/runs_page.hpp"
#include "pipeline/text/count.hpp"
#include "pipeline/text/refuse.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace {

namespace fs = std::filesystem;

RunsCell score_cell(const Score& score) {
  RunsCell cell{number_for_people(score.value), score.value};
  if (score.standard_error) cell.text += " ± " + number_for_people(*score.standard_error);
  for (const Score::Beside& one : score.beside) {
    cell.note += (cell.note.empty() ? "" : ", ") + one.name + " " + number_for_people(one.value);
  }
  if (score.selected_on == SelectedOn::test) {
    cell.note += (cell.note.empty() ? "" : "; ") +
                 std::string("weights selected on this data: biased upwards");
  }
  return cell;
}

/// Without quotes; numbers are sorted as numbers.
RunsCell parameter_cell(const std::string& value) {
  return {value.size() > 1 && value.front() == '"' ? value.substr(1, value.size() - 2) : value};
}

/// The run's page if there is one, otherwise its folder; relative to `from`, the folder of the
/// table.
std::string link_to(const RunFolder& run, const fs::path& from) {
  const fs::path page = run.path / "report.html";
  std::error_code error;
  if (!fs::is_directory(run.path, error)) return {};
  return (fs::exists(page, error) ? page : run.path / "")
      .lexically_relative(from.lexically_normal())
      .string();
}

/// The runs of a folder; `from`: folder of the page, absolute.
RunsTable table_of(const std::vector<RunFolder>& runs, const fs::path& from) {
  const std::vector<Parameters> changed = changed_parameters(runs);
  Parameters keys;  // without values, which the titles do not depend on
  std::vector<std::pair<std::string, std::string>> metrics;  // and their flows
  std::map<std::string, std::set<std::string>> flows;        // of each metric
  std::set<std::string> files;
  std::vector<std::vector<Score>> scores;
  std::vector<std::string> problems;
  for (std::size_t at = 0; at < runs.size(); ++at) {
    for (const auto& [key, value] : changed[at]) keys[key] = {};
    files.insert(runs[at].pipeline);
    std::string problem;
    std::vector<Score> own;
    try {
      own = read_headlines(runs[at].path);
      std::erase_if(own,
                    [&](const Score& score) { return !counts_as_score(runs[at], score.when); });
    } catch (const Error& error) {
      problem = error.full_message();
    }
    for (const Score& score : own) {
      if (flows[score.metric].insert(score.flow).second) {
        metrics.emplace_back(score.metric, score.flow);
      }
    }
    scores.push_back(std::move(own));
    problems.push_back(std::move(problem));
  }
  RunsTable table;
  table.columns = {"run", "state", "epochs"};
  if (files.size() > 1) table.columns.emplace_back("file");
  for (std::string& title : titles_of(keys)) table.columns.push_back(std::move(title));
  for (const auto& [metric, flow] : metrics) {
    table.columns.push_back(flows[metric].size() == 1 ? metric : flow + ":" + metric);
  }
  for (std::size_t at = 0; at < runs.size(); ++at) {
    const RunFolder& run = runs[at];
    std::vector<RunsCell>& row = table.rows.emplace_back();
    row.push_back({run.name, {}, {}, link_to(run, from)});
    row.push_back({state_text(run.state), {}, run.note.empty() ? problems[at] : run.note});
    row.push_back({std::to_string(run.epochs_done) + "/" + std::to_string(run.epochs),
                   static_cast<double>(run.epochs_done)});
    if (files.size() > 1) row.push_back({fs::path(run.pipeline).stem().string()});
    for (const auto& [key, unused] : keys) {
      const auto value = changed[at].find(key);
      row.push_back(value == changed[at].end() ? RunsCell() : parameter_cell(value->second));
    }
    for (const auto& [metric, flow] : metrics) {
      const auto score =
          std::ranges::find_if(scores[at], [&metric = metric, &flow = flow](const Score& one) {
            return one.metric == metric && one.flow == flow;
          });
      row.push_back(score == scores[at].end() ? RunsCell() : score_cell(*score));
    }
  }
  return table;
}

/// Writes the table of a sweep or of a folder of runs; returns its path.
fs::path write_table(const fs::path& folder, const fs::path& output) {
  const std::vector<RunFolder> runs = find_runs(folder);
  if (runs.empty()) refuse("'{}' is neither a run folder nor a folder of runs", folder.string());
  fs::path file = output.empty() ? folder / "report.html" : output;
  RunsTable table = table_of(runs, fs::absolute(file).parent_path());
  table.title = fs::absolute(folder / "").lexically_normal().parent_path().filename().string();
  write_runs_page(table, file);
  return file;
}

}  // namespace

ExitCode report_verb(const ReportArguments& arguments) {
  const bool many = arguments.runs.size() == 1 && !is_run_folder(arguments.runs.front()) &&
                    fs::is_directory(arguments.runs.front());
  const fs::path page = many ? write_table(arguments.runs.front(), arguments.output)
                             : write_page(arguments.runs, arguments.output);
  std::cout << page.string() << std::endl;
  return ExitCode::success;
}

}  // namespace seam::host
