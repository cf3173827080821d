#include "pipeline/experiments/comparison_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "pipeline/config/flow_text.hpp"

namespace seam::host {
namespace {

/// Appends the stages of a text, including those of its paths.
void add_stages(const Parameters& parameters, const std::string& text, TextKind kind,
                std::vector<std::string>& stages, int most_deep) {
  for (const FlowStep& step : parse_flow(text, kind).steps) {
    const std::string path = "path." + step.stage;
    if (most_deep > 0 && find(parameters, path) != nullptr) {
      add_stages(parameters, text_parameter(parameters, path), TextKind::path, stages,
                 most_deep - 1);
    } else {
      stages.push_back(step.stage);
    }
  }
}

/// "evaluate" -> its stages; the first is its source.
using Flows = std::map<std::string, std::vector<std::string>>;

Flows flows_of(const Parameters& parameters) {
  constexpr std::string_view prefix = "flow.";
  Flows flows;
  for (const auto& [key, value] : parameters) {
    if (!key.starts_with(prefix)) continue;
    constexpr int deeper_than_any = 32;  // paths in paths; cycles are rejected before a run
    add_stages(parameters, text_parameter(parameters, key), TextKind::flow,
               flows[key.substr(prefix.size())], deeper_than_any);
  }
  return flows;
}

/// Calls `take` with the key and the value of each parameter of the stage, `use` among them.
template <class Take>
void for_each_parameter(const Parameters& parameters, const std::string& stage, const Take& take) {
  const std::string prefix = "stage." + stage + ".";
  for (auto at = parameters.lower_bound(prefix);
       at != parameters.end() && at->first.starts_with(prefix); ++at) {
    take(at->first, at->second);
  }
}

/// Names of stages in the stage's parameters: references, such as a search's index.
std::set<std::string> referred_by(const Parameters& parameters, const std::string& stage) {
  std::set<std::string> stages;
  for_each_parameter(parameters, stage, [&](const std::string& key, const std::string& /*value*/) {
    const std::string text = text_parameter(parameters, key);
    if (!text.empty() && find(parameters, "stage." + text + ".use") != nullptr) {
      stages.insert(text);
    }
  });
  return stages;
}

/// The flow and those that fill stages to which it refers. A source is not filled: a model may
/// refer to its training data.
std::set<std::string> flows_measured(const Parameters& parameters, const Flows& flows,
                                     const std::string& flow) {
  std::set<std::string> found{flow};
  for (const std::string& stage : flows.at(flow)) {
    for (const std::string& referred : referred_by(parameters, stage)) {
      for (const auto& [name, stages] : flows) {
        const auto fills = stages.begin() + (stages.empty() ? 0 : 1);
        if (std::find(fills, stages.end(), referred) != stages.end()) found.insert(name);
      }
    }
  }
  return found;
}

/// Packets that failed or were dropped in each run of the flow: these are not measured.
std::string lost_in_flow(const FlowTotal& total) {
  std::uint64_t lost = 0;
  for (const StageCount& stage : total.stages) lost += stage.failed + stage.dropped_total();
  return fmt::format("{:.6g}", static_cast<double>(lost) / static_cast<double>(total.times));
}

/// The stages of these flows after all stages that other flows share, such as the model: their
/// settings decide what is measured, not what is trained.
std::set<std::string> measuring_stages(const Flows& flows,
                                       const std::set<std::string>& of_interest) {
  std::set<std::string> elsewhere;
  for (const auto& [name, stages] : flows) {
    if (!of_interest.contains(name)) elsewhere.insert(stages.begin(), stages.end());
  }
  std::set<std::string> found;
  for (const std::string& name : of_interest) {
    const std::vector<std::string>& stages = flows.at(name);
    const auto shared = std::find_if(stages.rbegin(), stages.rend(),
                                     [&](const auto& stage) { return elsewhere.contains(stage); });
    if (shared != stages.rend()) found.insert(shared.base(), stages.end());
  }
  return found;
}

/// Adds the settings of a stage that measures.
void add_settings(const RunFolder& run, const std::string& stage, Parameters& data) {
  if (run.roles.only_writes(stage, run.parameters)) return;
  for_each_parameter(run.parameters, stage, [&](const std::string& key, const std::string& value) {
    if (run.roles.is_replicate(key)) {
      if (run.roles.is_used(key, run.parameters)) data[key] = one_fold;
    } else if (run.roles.changes_results(key)) {
      data[key] = value;
    }
  });
}

/// Adds the settings of a flow's source. Returns its folds as a text.
std::string add_source(const RunFolder& run, const std::string& source, Parameters& data) {
  std::string folds;
  for_each_parameter(run.parameters, source, [&](const std::string& key, const std::string& value) {
    if (run.roles.is_replicate(key)) {
      folds += ", fold " + value;
    } else if (run.roles.changes_results(key)) {
      data[key] = value;
    }
  });
  return folds;
}

/// Adds how many packets the flow's source emitted and how many were lost, in each run of the flow.
void add_counts(const RunFolder& run, const std::string& flow, const std::string& folds,
                Parameters& counts) {
  const auto total = std::ranges::find(run.flows, flow, &FlowTotal::flow);
  if (total == run.flows.end() || total->times == 0 || total->stages.empty()) return;
  const std::uint64_t packets = packets_of(total->stages.front()) / total->times;
  counts[fmt::format("packets of {}{}", flow, folds)] = std::to_string(packets);
  counts[fmt::format("lost packets of {}{}", flow, folds)] = lost_in_flow(*total);
}

}  // namespace

const std::string* find(const Parameters& parameters, const std::string& key) {
  const auto found = parameters.find(key);
  return found == parameters.end() ? nullptr : &found->second;
}

void note_data(const RunFolder& run, const std::string& flow, ScoredRun& scored) {
  const Flows flows = flows_of(run.parameters);
  if (!flows.contains(flow)) return;
  const std::set<std::string> measured = flows_measured(run.parameters, flows, flow);
  for (const std::string& stage : measuring_stages(flows, measured)) {
    add_settings(run, stage, scored.data);
  }
  for (const std::string& name : measured) {
    const std::vector<std::string>& stages = flows.at(name);
    if (stages.empty()) continue;
    const std::string folds = add_source(run, stages.front(), scored.data);
    add_counts(run, name, folds, scored.counts);
  }
}

}  // namespace seam::host
