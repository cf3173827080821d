#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "pipeline/cli/loading.hpp"
#include "pipeline/experiments/comparison_text.hpp"
#include "pipeline/experiments/run_folder.hpp"
#include "pipeline/experiments/run_list.hpp"
#include "pipeline/text/lists.hpp"
#include "pipeline/text/refuse.hpp"
#include "pipeline/text/terminal.hpp"

namespace seam::host {
namespace {

namespace fs = std::filesystem;

/// The runs in these folders, each once.
std::vector<RunFolder> runs_in(const std::vector<std::string>& folders) {
  std::vector<RunFolder> runs;
  std::set<fs::path> seen;
  for (const std::string& folder : folders) {
    const bool is_run = is_run_folder(folder);
    std::vector<RunFolder> found =
        is_run ? std::vector{read_run(folder, folder)} : find_runs(folder);
    if (found.empty())
      refuse(
          "'{}' is neither a run folder nor a folder of runs; `seam runs` lists the available ones",
          folder);
    for (RunFolder& run : found) {
      if (!is_run && folders.size() > 1) run.name = (fs::path(folder) / run.name).string();
      if (seen.insert(fs::weakly_canonical(run.path)).second) runs.push_back(std::move(run));
    }
  }
  return runs;
}

}  // namespace

ExitCode compare_verb(const CompareArguments& arguments) {
  ComparisonChoice choice;
  for (const std::string& metric : arguments.metrics) {
    if (contains(choice.further, metric)) refuse("--metric names '{}' twice", metric);
    choice.further.push_back(metric);
  }
  if (!choice.further.empty()) {
    choice.metric = choice.further.front();
    choice.further.erase(choice.further.begin());
  }
  if (!arguments.better.empty()) {
    choice.better = arguments.better == "higher" ? Better::higher : Better::lower;
  }
  choice.which = arguments.best ? WhichEpoch::best : WhichEpoch::last;
  choice.pairing = arguments.paired ? Pairing::observations : Pairing::runs;
  const Comparison comparison = compare_runs(runs_in(arguments.runs), choice);
  if (arguments.json) {
    std::cout << to_json(comparison);
  } else if (arguments.csv) {
    std::cout << to_csv(comparison);
  } else if (arguments.markdown) {
    std::cout << to_markdown(comparison);
  } else if (arguments.latex) {
    std::cout << to_latex(comparison);
  } else {
    std::cout << to_text(comparison, terminal_width(STDOUT_FILENO));
  }
  if (comparison.rankings.empty()) {
    return report_error(Error("there is nothing to rank: none of these runs is complete"));
  }
  return ExitCode::success;
}

}  // namespace seam::host
