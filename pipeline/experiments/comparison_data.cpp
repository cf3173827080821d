#include "pipeline/experiments/comparison_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "pipeline/config/axis.hpp"
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
std::map<std::string, std::vector<std::string>> flows_of(const Parameters& parameters) {
  constexpr std::string_view prefix = "flow.";
  std::map<std::string, std::vector<std::string>> flows;
  for (const auto& [key, value] : parameters) {
    if (!key.starts_with(prefix)) continue;
    constexpr int deeper_than_any = 32;  // paths in paths; cycles are rejected before a run
    add_stages(parameters, text_parameter(parameters, key), TextKind::flow,
               flows[key.substr(prefix.size())], deeper_than_any);
  }
  return flows;
}

/// Names of stages in the stage's parameters: references, such as a search's index.
std::set<std::string> referred_by(const Parameters& parameters, const std::string& stage) {
  std::set<std::string> stages;
  const std::string prefix = "stage." + stage + ".";
  for (auto at = parameters.lower_bound(prefix);
       at != parameters.end() && at->first.starts_with(prefix); ++at) {
    const std::string text = text_parameter(parameters, at->first);
    if (!text.empty() && find(parameters, "stage." + text + ".use") != nullptr) {
      stages.insert(text);
    }
  }
  return stages;
}

/// Packets that failed or were dropped in each run of the flow: these are not measured.
std::string lost_in_flow(const FlowTotal& total) {
  std::uint64_t lost = 0;
  for (const StageCount& stage : total.stages) lost += stage.failed + stage.dropped_total();
  return fmt::format("{:.6g}", static_cast<double>(lost) / static_cast<double>(total.times));
}

/// The stages of these flows after all stages that other flows share, such as the model: their
/// settings decide what is measured, not what is trained.
std::set<std::string> measuring_stages(const std::map<std::string, std::vector<std::string>>& flows,
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

/// How many packets the flow's source emitted in each run.
std::optional<std::uint64_t> packets_of_flow(const RunFolder& run, const std::string& flow) {
  const auto total = std::ranges::find(run.flows, flow, &FlowTotal::flow);
  if (total == run.flows.end() || total->times == 0 || total->stages.empty()) return std::nullopt;
  return packets_of(total->stages.front()) / total->times;
}

}  // namespace

const std::string* find(const Parameters& parameters, const std::string& key) {
  const auto found = parameters.find(key);
  return found == parameters.end() ? nullptr : &found->second;
}

bool is_set(const Parameters& parameters, const std::string& replicate_key) {
  const std::string* folds = find(parameters, replicate_key + "s");
  const bool whole = replicate_key.ends_with(".fold") && folds != nullptr && *folds == "1";
  return !whole && find(parameters, replicate_key) != nullptr;
}

void note_data(const RunFolder& run, const std::string& flow, ScoredRun& scored) {
  const auto flows = flows_of(run.parameters);
  const auto measuring = flows.find(flow);
  if (measuring == flows.end()) return;
  std::set<std::string> of_interest{flow};
  for (const std::string& stage : measuring->second) {
    for (const std::string& referred : referred_by(run.parameters, stage)) {
      for (const auto& [name, stages] : flows) {
        // After its source: the source itself, such as the training data of a model, is not filled.
        const auto fills = stages.begin() + (stages.empty() ? 0 : 1);
        if (std::find(fills, stages.end(), referred) != stages.end()) of_interest.insert(name);
      }
    }
  }
  for (const std::string& stage : measuring_stages(flows, of_interest)) {
    const std::string prefix = "stage." + stage + ".";
    const std::string use = text_parameter(run.parameters, prefix + "use");
    if (use.starts_with("report.") || use.starts_with("export.")) continue;  // they only write
    for (auto at = run.parameters.lower_bound(prefix);
         at != run.parameters.end() && at->first.starts_with(prefix); ++at) {
      const bool fold = is_replicate_key(at->first);
      if (fold && is_set(run.parameters, at->first)) scored.data[at->first] = one_fold;
      if (!fold && changes_results(at->first)) scored.data[at->first] = at->second;
    }
  }
  for (const std::string& name : of_interest) {
    const std::vector<std::string>& stages = flows.at(name);
    if (stages.empty()) continue;
    const std::string prefix = "stage." + stages.front() + ".";
    std::string folds;
    for (auto at = run.parameters.lower_bound(prefix);
         at != run.parameters.end() && at->first.starts_with(prefix); ++at) {
      if (is_replicate_key(at->first)) {
        folds += ", fold " + at->second;
      } else if (changes_results(at->first)) {
        scored.data[at->first] = at->second;
      }
    }
    if (const auto packets = packets_of_flow(run, name)) {
      scored.counts[fmt::format("packets of {}{}", name, folds)] = std::to_string(*packets);
      const auto total = std::ranges::find(run.flows, name, &FlowTotal::flow);
      scored.counts[fmt::format("lost packets of {}{}", name, folds)] = lost_in_flow(*total);
    }
  }
}

}  // namespace seam::host
