#include "pipeline/experiments/comparison_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "pipeline/config/flow_text.hpp"
#include "pipeline/text/lists.hpp"

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

/// The stages to which the stage refers, such as a search's index.
std::set<std::string> referred_by(const RunFolder& run, const std::string& stage) {
  std::set<std::string> stages;
  for_each_parameter(run.parameters, stage, [&](const std::string& key, const std::string&) {
    if (!run.roles.may_refer(key)) return;
    const std::string text = text_parameter(run.parameters, key);
    if (text != stage && find(run.parameters, "stage." + text + ".use") != nullptr) {
      stages.insert(text);
    }
  });
  return stages;
}

/// The flows that fill stages to which the stage refers. A source is not filled: a model may refer
/// to its training data.
std::set<std::string> flows_filling(const RunFolder& run, const Flows& flows,
                                    const std::string& stage) {
  std::set<std::string> found;
  for (const std::string& referred : referred_by(run, stage)) {
    for (const auto& [name, stages] : flows) {
      const auto fills = stages.begin() + (stages.empty() ? 0 : 1);
      if (std::find(fills, stages.end(), referred) != stages.end()) found.insert(name);
    }
  }
  return found;
}

/// The flow and those that fill stages to which it refers.
std::set<std::string> flows_measured(const RunFolder& run, const Flows& flows,
                                     const std::string& flow) {
  std::set<std::string> found{flow};
  for (const std::string& stage : flows.at(flow)) found.merge(flows_filling(run, flows, stage));
  return found;
}

/// Lost packets in each run of the flow: these are not measured.
std::string lost_in_flow(const FlowTotal& total) {
  return fmt::format("{:.6g}",
                     static_cast<double>(lost_packets(total)) / static_cast<double>(total.times));
}

/// The position after the last of the stages that is also in `others`; their begin if none is.
std::vector<std::string>::const_iterator after_shared(const std::vector<std::string>& stages,
                                                      const std::set<std::string>& others) {
  return std::find_if(stages.rbegin(), stages.rend(),
                      [&](const std::string& stage) { return others.contains(stage); })
      .base();
}

bool any_trains(const RunFolder& run, const std::vector<std::string>& stages) {
  return std::ranges::any_of(
      stages, [&](const std::string& stage) { return run.roles.trains(stage, run.parameters); });
}

/// The stages of the flows for which `chosen` returns true.
std::set<std::string> stages_of(const Flows& flows,
                                const std::function<bool(const std::string& flow)>& chosen) {
  std::set<std::string> found;
  for (const auto& [name, stages] : flows) {
    if (chosen(name)) found.insert(stages.begin(), stages.end());
  }
  return found;
}

/// The position of the first stage after the source of `flow` that refers to a stage that one of
/// the other flows `of_interest` fills, such as a search; the end if there is none. A stage of
/// these flows or of one that trains may be the model, and does not count.
std::vector<std::string>::const_iterator search_of(const RunFolder& run, const Flows& flows,
                                                   const std::set<std::string>& of_interest,
                                                   const std::string& flow) {
  const std::vector<std::string>& stages = flows.at(flow);
  const std::set<std::string> embedding = stages_of(flows, [&](const std::string& other) {
    return other != flow && (of_interest.contains(other) || any_trains(run, flows.at(other)));
  });
  return std::find_if(
      stages.begin() + (stages.empty() ? 0 : 1), stages.end(), [&](const std::string& stage) {
        if (embedding.contains(stage)) return false;
        std::set<std::string> filling = flows_filling(run, flows, stage);
        filling.erase(flow);
        return std::ranges::any_of(
            filling, [&](const std::string& other) { return of_interest.contains(other); });
      });
}

/// The stages of these flows after all stages that other flows share, such as the model: their
/// settings decide what is measured, not what is trained. If no other flow shares one, because
/// nothing is trained, these are the stages after those that these flows share, or `measuring` and
/// those after it. Another flow that only measures with `measuring` does not count as sharing it.
/// A search and the stages after it count even if other flows that only measure share them.
std::set<std::string> measuring_stages(const RunFolder& run, const Flows& flows,
                                       const std::set<std::string>& of_interest,
                                       const std::string& measuring) {
  const bool train = std::ranges::any_of(
      of_interest, [&](const std::string& flow) { return any_trains(run, flows.at(flow)); });
  std::set<std::string> found;
  for (const std::string& name : of_interest) {
    const std::vector<std::string>& stages = flows.at(name);
    const auto counts = [&](const std::string& flow) {
      const std::vector<std::string>& others = flows.at(flow);
      return flow != name && (train || !contains(stages, measuring) ||
                              !contains(others, measuring) || any_trains(run, others));
    };
    auto last = after_shared(stages, stages_of(flows, [&](const std::string& flow) {
                               return !of_interest.contains(flow) && counts(flow);
                             }));
    if (last == stages.begin()) {
      if (train) continue;
      last = after_shared(stages, stages_of(flows, counts));
    }
    if (last == stages.begin()) last = std::find(stages.begin(), stages.end(), measuring);
    if (!train) last = std::min(last, search_of(run, flows, of_interest, name));
    found.insert(last, stages.end());
  }
  return found;
}

/// Adds the settings of a stage that measures or samples; a file counts by its content.
void add_settings(const RunFolder& run, const std::string& stage, Parameters& data) {
  if (run.roles.only_writes(stage, run.parameters)) return;
  for_each_parameter(run.parameters, stage, [&](const std::string& key, const std::string& value) {
    if (run.roles.is_replicate(key)) {
      if (run.roles.is_used(key, run.parameters)) data[key] = one_fold;
    } else if (run.roles.changes_results(key) &&
               !run.parameters.contains(key + std::string(content_suffix))) {
      data[key] = value;
    }
  });
}

/// The settings of a source without its folds; if it has files, these count by their content, and
/// not by their paths.
Parameters settings_of_source(const RunFolder& run, const std::string& source) {
  Parameters settings;
  bool has_content = false;
  for_each_parameter(run.parameters, source, [&](const std::string& key, const std::string&) {
    has_content = has_content || key.ends_with(content_suffix);
  });
  for_each_parameter(run.parameters, source, [&](const std::string& key, const std::string& value) {
    if (run.roles.is_replicate(key) || !run.roles.changes_results(key)) return;
    if (!has_content || !run.roles.is_path(key)) settings[key] = value;
  });
  return settings;
}

std::string listing_key(const std::string& stage) {
  return "stage." + stage + std::string(listing_suffix);
}

/// Adds the settings of a flow's source and its list. Returns its folds as a text.
std::string add_source(const RunFolder& run, const std::string& source, Parameters& data) {
  data.merge(settings_of_source(run, source));
  const std::string list = listing_key(source);
  if (const std::string* digest = find(run.parameters, list)) data[list] = *digest;
  std::string folds;
  for_each_parameter(run.parameters, source, [&](const std::string& key, const std::string& value) {
    if (run.roles.is_replicate(key)) folds += ", fold " + value;
  });
  return folds;
}

/// Adds how many packets the flow's source emitted and how many were lost, in each run of the flow.
/// If an earlier process ran it, the losses are unknown unless the whole run has none.
void add_counts(const RunFolder& run, const std::string& flow, const std::string& folds,
                Parameters& counts) {
  const FlowTotal* total = find_in(run.flows, flow, &FlowTotal::flow);
  const std::string lost = fmt::format("lost packets of {}{}", flow, folds);
  if (total == nullptr || total->times == 0 || total->stages.empty()) {
    if (run.skipped_packets > 0) {
      counts[lost] = fmt::format("unknown; {} in the whole run", run.skipped_packets);
    }
    return;
  }
  const std::uint64_t packets = packets_of(total->stages.front()) / total->times;
  counts[fmt::format("packets of {}{}", flow, folds)] = std::to_string(packets);
  counts[lost] = lost_in_flow(*total);
}

bool is_evaluation(const RunFolder& run) {
  return run.parameters.contains(std::string(evaluates_key));
}

/// Whether data sets of this name with the same settings have different lists. False if one of the
/// runs that have the stage recorded no lists.
bool differ_in_listing(const std::vector<RunFolder*>& runs, const std::string& stage) {
  std::map<Parameters, std::uint64_t> known;
  bool differ = false;
  for (const RunFolder* run : runs) {
    Parameters settings = settings_of_source(*run, stage);
    if (settings.empty()) continue;
    if (!run->listings) return false;
    const auto digest = run->listings->find(stage);
    if (digest == run->listings->end()) continue;
    const auto like = known.emplace(std::move(settings), digest->second).first;
    differ = differ || like->second != digest->second;
  }
  return differ;
}

/// Whether an earlier version of Seam made the run, which recorded no contents of files; later ones
/// recorded these, and then roles as well.
bool lacks_contents(const RunFolder& run) {
  return run.roles.texts().empty() && std::ranges::none_of(run.parameters, [](const auto& entry) {
           return entry.first.ends_with(content_suffix);
         });
}

}  // namespace

const std::string* find(const Parameters& parameters, const std::string& key) {
  const auto found = parameters.find(key);
  return found == parameters.end() ? nullptr : &found->second;
}

void omit_unknown_contents(std::vector<RunFolder>& runs) {
  std::map<bool, std::set<std::string>> unknown;  // by whether a run only evaluates
  for (const RunFolder& run : runs) {
    if (!lacks_contents(run)) continue;
    for (const auto& [key, value] : run.parameters) {
      unknown[is_evaluation(run)].insert(key + std::string(content_suffix));
    }
  }
  for (RunFolder& run : runs) {
    for (const std::string& key : unknown[is_evaluation(run)]) run.parameters.erase(key);
  }
}

void add_listings(std::vector<RunFolder>& runs) {
  for (const bool evaluations : {false, true}) {
    std::vector<RunFolder*> alike;
    std::set<std::string> stages;
    for (RunFolder& run : runs) {
      if (is_evaluation(run) != evaluations) continue;
      alike.push_back(&run);
      for (const auto& [stage, digest] : run.listings.value_or(Listings())) stages.insert(stage);
    }
    for (const std::string& stage : stages) {
      if (!differ_in_listing(alike, stage)) continue;
      for (RunFolder* run : alike) {
        if (!run->listings || !run->listings->contains(stage)) continue;
        run->parameters[listing_key(stage)] = fmt::format("{:016x}", run->listings->at(stage));
      }
    }
  }
}

void note_data(const RunFolder& run, const std::string& flow, const std::string& measuring,
               ScoredRun& scored) {
  const Flows flows = flows_of(run.parameters);
  if (!flows.contains(flow)) return;
  const std::set<std::string> measured = flows_measured(run, flows, flow);
  for (const std::string& stage : measuring_stages(run, flows, measured, measuring)) {
    add_settings(run, stage, scored.data);
  }
  for (const std::string& name : measured) {
    const std::vector<std::string>& stages = flows.at(name);
    if (stages.empty()) continue;
    const std::string folds = add_source(run, stages.front(), scored.data);
    add_counts(run, name, folds, scored.counts);
    if (any_trains(run, stages)) continue;  // its samplers belong to the training
    for (const std::string& stage : stages) {
      if (run.roles.samples(stage, run.parameters)) add_settings(run, stage, scored.data);
    }
  }
}

}  // namespace seam::host
