#include "pipeline/experiments/run_list.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "pipeline/config/variants.hpp"
#include "pipeline/experiments/sweep_plan.hpp"
#include "pipeline/text/lists.hpp"
#include "pipeline/text/refuse.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace fs = std::filesystem;
namespace {

RunFolder read_or_say_why(const fs::path& folder, const std::string& name) {
  try {
    return read_run(folder, name);
  } catch (const Error& error) {
    RunFolder run;
    run.path = fs::absolute(folder).lexically_normal();
    run.name = name;
    run.state = RunState::failed;
    run.note = error.full_message();
    return run;
  }
}

std::string folder_name(const fs::path& folder) {
  const fs::path path = fs::absolute(folder).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

}  // namespace

std::vector<RunFolder> runs_of_sweep(const fs::path& folder, const std::string& prefix) {
  const SweepPlan plan = read_plan(folder);
  std::vector<RunFolder> runs;
  for (const PlannedRun& planned : plan.runs) {
    RunFolder run = read_or_say_why(folder / planned.name, prefix + planned.name);
    run.pipeline = plan.file;  // not its copy in the sweep's folder
    if (run.parameters.empty()) {
      for (const auto& [key, value] : planned.settings) run.parameters[key] = value;
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<RunFolder> find_runs(const fs::path& folder) {
  if (!fs::is_directory(folder)) {
    refuse("there is no folder '{}'; `seam runs FOLDER` lists the runs in another one",
           folder.string());
  }
  if (is_sweep_folder(folder)) return runs_of_sweep(folder, "");
  if (is_run_folder(folder)) return {read_or_say_why(folder, folder_name(folder))};
  // By start time, then by name, because directory order varies.
  std::map<std::pair<std::string, std::string>, std::vector<RunFolder>> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (is_sweep_folder(entry.path())) {
      std::vector<RunFolder> runs;
      std::string started;
      try {
        runs = runs_of_sweep(entry.path(), name + "/");
        started = read_plan(entry.path()).started;
      } catch (const Error& error) {
        RunFolder broken;
        broken.path = fs::absolute(entry.path()).lexically_normal();
        broken.name = name;
        broken.state = RunState::failed;
        broken.note = error.full_message();
        runs = {broken};
      }
      found[{started, name}] = std::move(runs);
    } else if (is_run_folder(entry.path())) {
      RunFolder run = read_or_say_why(entry.path(), name);
      const std::string started = run.started;
      found[{started, name}] = {std::move(run)};
    }
  }
  std::vector<RunFolder> runs;
  for (auto& [key, group] : found) {
    for (RunFolder& run : group) runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<Parameters> changed_parameters(const std::vector<RunFolder>& runs) {
  const std::vector<Parameters> parameters = mapped(runs, &RunFolder::parameters);
  std::map<std::string, std::vector<std::size_t>> by_file;
  for (std::size_t at = 0; at < runs.size(); ++at) {
    // Runs that were not started have only the keys of the sweep.
    if (!parameters[at].empty()) by_file[runs[at].pipeline].push_back(at);
  }
  std::vector<Parameters> changed(runs.size());
  for (const auto& [file, members] : by_file) {
    std::set<std::string> keys;
    for (const std::size_t at : members) {
      for (const auto& [key, value] : parameters[at]) keys.insert(key);
    }
    std::vector<const Parameters*> started;
    Roles roles;
    for (const std::size_t at : members) {
      if (runs[at].state == RunState::missing) continue;
      started.push_back(&parameters[at]);
      roles = runs[at].roles;
    }
    const std::set<std::string> decided = decided_by_variants(started);
    for (const std::string& key : keys) {
      if (!roles.changes_results(key) && !is_variant_key(key)) continue;
      if (decided.contains(key)) continue;
      std::map<std::size_t, std::string> values;  // by run
      for (const std::size_t at : members) {
        if (const auto found = parameters[at].find(key); found != parameters[at].end()) {
          values[at] = found->second;
        } else if (runs[at].state != RunState::missing) {
          values[at] = "not set";
        }
      }
      const auto is_first = [&](const auto& one) { return one.second == values.begin()->second; };
      if (std::ranges::all_of(values, is_first)) continue;
      for (const auto& [at, value] : values) changed[at][key] = value;
    }
  }
  return changed;
}

std::vector<std::string> titles_of(const Parameters& parameters) {
  std::map<std::string, int> uses;
  const auto last = [](const std::string& key) { return key.substr(key.rfind('.') + 1); };
  for (const auto& [key, value] : parameters) ++uses[last(key)];
  return mapped(keys_in(parameters),
                [&](const std::string& key) { return uses[last(key)] == 1 ? last(key) : key; });
}

std::string settings_text(const Parameters& settings) {
  std::string text;
  auto value = settings.begin();
  for (const std::string& title : titles_of(settings)) {
    text += (text.empty() ? "" : " ") + title + "=" + (value++)->second;
  }
  return text;
}

bool counts_as_score(const RunFolder& run, const std::string& when) {
  return run.state == RunState::complete || when != "before";
}

std::optional<ShownScore> shown_score(const RunFolder& run, const std::string& metric) {
  if (run.parameters.empty() || !fs::exists(run.path / "metrics.jsonl")) return std::nullopt;
  const std::vector<Score> headlines = read_headlines(run.path);
  ShownScore shown;
  std::string flow;
  std::tie(flow, shown.metric) = flow_and_metric(metric);
  if (metric.empty()) {
    if (headlines.empty()) return std::nullopt;
    shown.metric = headlines.front().metric;
    flow = headlines.front().flow;
  } else if (const auto known = std::ranges::find(headlines, metric, &Score::metric);
             flow.empty() && known != headlines.end()) {
    flow = known->flow;
  }
  if (const auto own = std::ranges::find_if(
          headlines,
          [&](const Score& score) { return score.metric == shown.metric && score.flow == flow; });
      own != headlines.end()) {  // of whole flows only
    shown.value = {own->epoch, own->flow, own->when, own->value};
  } else {
    const auto value = choose_value(read_metric(run.path, shown.metric), shown.metric, flow,
                                    WhichEpoch::last, Better::higher);
    if (!value) return std::nullopt;
    shown.value = *value;
  }
  if (!counts_as_score(run, shown.value.when)) return std::nullopt;
  return shown;
}

}  // namespace seam::host
