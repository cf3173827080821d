#include "pipeline/experiments/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "pipeline/config/axis.hpp"
#include "pipeline/config/flow_text.hpp"
#include "pipeline/config/variants.hpp"
#include "pipeline/experiments/metric_choice.hpp"
#include "pipeline/experiments/outcomes.hpp"
#include "pipeline/experiments/paired.hpp"
#include "pipeline/experiments/run_list.hpp"
#include "pipeline/text/nearest.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(message, Fault::configuration);
}

const std::string* find(const Parameters& parameters, const std::string& key) {
  const auto found = parameters.find(key);
  return found == parameters.end() ? nullptr : &found->second;
}

/// Equal if no key has two different values.
bool agree(const Parameters& a, const Parameters& b) {
  return std::ranges::all_of(a, [&](const auto& entry) {
    const std::string* other = find(b, entry.first);
    return other == nullptr || *other == entry.second;
  });
}

/// The keys whose values differ among these.
std::set<std::string> differing(const std::vector<const Parameters*>& all) {
  std::set<std::string> keys;
  for (const Parameters* parameters : all) {
    for (const auto& [key, value] : *parameters) {
      const auto same = [&, key = &key, value = &value](const Parameters* other) {
        const std::string* found = find(*other, *key);
        return found != nullptr && *found == *value;
      };
      if (!std::ranges::all_of(all, same)) keys.insert(key);
    }
  }
  return keys;
}

Parameters only(const Parameters& parameters, const std::set<std::string>& keys) {
  Parameters chosen;
  for (const std::string& key : keys) {
    const std::string* value = find(parameters, key);
    chosen[key] = value != nullptr ? *value : "not set";
  }
  return chosen;
}

/// Whether a run has a value for a seed or a fold; a data set without folds has none.
bool is_set(const Parameters& parameters, const std::string& replicate_key) {
  const std::string* folds = find(parameters, replicate_key + "s");
  const bool whole = replicate_key.ends_with(".fold") && folds != nullptr && *folds == "1";
  return !whole && find(parameters, replicate_key) != nullptr;
}

/// Seed and folds.
Parameters replicate_of(const Parameters& parameters) {
  Parameters replicate;
  for (const auto& [key, value] : parameters) {
    if (is_replicate_key(key) && is_set(parameters, key)) replicate[key] = value;
  }
  return replicate;
}

/// For grouping: runs on different folds belong together, but not with runs on all folds.
constexpr const char* one_fold = "one of the folds";

/// Runs that may be ranked together.
struct Comparable {
  Parameters data;
  Parameters counts;
  std::vector<const ScoredRun*> runs;
};

std::vector<Comparable> split_by_data(const std::vector<ScoredRun>& runs) {
  std::vector<Comparable> parts;
  for (const ScoredRun& run : runs) {
    const auto fits = [&](const Comparable& part) {
      return part.data == run.data && agree(part.counts, run.counts);
    };
    auto part = std::ranges::find_if(parts, fits);
    if (part == parts.end()) part = parts.insert(parts.end(), {run.data, {}, {}});
    part->counts.insert(run.counts.begin(), run.counts.end());
    part->runs.push_back(&run);
  }
  std::stable_sort(parts.begin(), parts.end(), [](const Comparable& a, const Comparable& b) {
    return a.runs.size() > b.runs.size();
  });
  return parts;
}

/// One group per combination of parameters; a run that repeats another one goes to `unranked`.
std::vector<Group> grouped(const std::vector<const ScoredRun*>& runs,
                           std::vector<Unranked>& unranked) {
  std::vector<const Parameters*> all;
  for (const ScoredRun* run : runs) all.push_back(&run->parameters);
  std::set<std::string> keys = differing(all);
  const std::set<std::string> decided = decided_by_variants(all);
  std::set<std::string> variants = keys;
  std::erase_if(variants, [](const std::string& key) { return !is_variant_key(key); });
  std::set<std::string> folds;
  for (const std::string& key : keys) {
    if (is_replicate_key(key) && key != "pipeline.seed") folds.insert(key);
  }
  std::erase_if(folds, [&](const std::string& key) {
    return std::ranges::all_of(all, [&](const Parameters* one) { return is_set(*one, key); }) ||
           std::ranges::none_of(all, [&](const Parameters* one) { return is_set(*one, key); });
  });
  std::erase_if(
      keys, [](const std::string& key) { return is_replicate_key(key) || !changes_results(key); });
  std::vector<Group> groups;
  std::vector<Parameters> identities;  // of the groups: keys shown or decided by variants
  for (const ScoredRun* run : runs) {
    Parameters own = only(run->parameters, keys);
    for (const std::string& key : folds) {
      own[key] = is_set(run->parameters, key) ? one_fold : "not set";
    }
    const auto identity = std::ranges::find(identities, own);
    auto group = groups.begin() + (identity - identities.begin());
    if (identity == identities.end()) {
      identities.push_back(own);
      group = groups.insert(groups.end(), Group());
      std::erase_if(own, [&](const auto& entry) { return decided.contains(entry.first); });
      own.merge(only(run->parameters, variants));
      group->parameters = own;
    }
    const Parameters replicate = replicate_of(run->parameters);
    const auto twin = std::ranges::find(group->members, replicate, &GroupMember::replicate);
    if (twin != group->members.end()) {
      const bool same = twin->value == run->value;
      unranked.push_back({run->name, fmt::format("it repeats {}{}", twin->name,
                                                 same ? std::string()
                                                      : fmt::format(", but has {} instead of {}",
                                                                    run->value, twin->value))});
      continue;
    }
    group->members.push_back({run->name, replicate, run->value, run->epoch, run->outcomes});
  }
  return groups;
}

/// Seeds within a fold are trained and evaluated on the same images: only folds are independent.
/// Returns the mean of each fold, or, with a single fold, the values as they are.
std::vector<double> observations_of(const std::map<Parameters, std::vector<double>>& by_folds) {
  if (by_folds.size() == 1) return by_folds.begin()->second;
  std::vector<double> means;
  for (const auto& [folds, of_seeds] : by_folds) means.push_back(mean_of(of_seeds));
  return means;
}

Parameters folds_of(const GroupMember& member) {
  Parameters folds = member.replicate;
  folds.erase("pipeline.seed");
  return folds;
}

std::vector<double> observations_of(const Group& group) {
  std::map<Parameters, std::vector<double>> by_folds;
  for (const GroupMember& member : group.members)
    by_folds[folds_of(member)].push_back(member.value);
  return observations_of(by_folds);
}

DifferenceToBest difference_between(const Group& group, const Group& best) {
  std::map<Parameters, std::vector<double>> by_folds;
  for (const GroupMember& member : group.members) {
    const auto other = std::ranges::find(best.members, member.replicate, &GroupMember::replicate);
    if (other == best.members.end()) continue;
    by_folds[folds_of(member)].push_back(member.value - other->value);
  }
  const std::vector<double> differences = observations_of(by_folds);
  DifferenceToBest difference;
  difference.pairs = differences.size();
  if (differences.empty()) return difference;
  difference.mean = mean_of(differences);
  difference.bounds = interval_of_mean(differences, confidence);
  return difference;
}

void measure(std::vector<Group>& groups, Better better) {
  for (Group& group : groups) {
    const std::vector<double> values = observations_of(group);
    group.observations = values.size();
    const bool finite = std::ranges::all_of(values, [](double v) { return std::isfinite(v); });
    group.mean = finite ? mean_of(values) : std::numeric_limits<double>::quiet_NaN();
    if (finite) group.deviation = deviation_of(values);
    if (group.deviation) {
      group.standard_error = *group.deviation / std::sqrt(static_cast<double>(values.size()));
    }
  }
  std::stable_sort(groups.begin(), groups.end(), [better](const Group& a, const Group& b) {
    if (std::isnan(a.mean) || std::isnan(b.mean)) return !std::isnan(a.mean) && std::isnan(b.mean);
    return better == Better::higher ? a.mean > b.mean : a.mean < b.mean;
  });
  for (std::size_t at = 1; at < groups.size(); ++at) {
    if (!std::isnan(groups[at].mean)) {
      groups[at].difference = difference_between(groups[at], groups.front());
    }
  }
}

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

void note_beside(const std::vector<Score::Beside>& values, std::map<std::string, Bounds>& beside) {
  for (const Score::Beside& one : values) {
    if (std::isnan(one.value)) continue;
    const auto [at, added] = beside.try_emplace(one.name, Bounds{one.value, one.value});
    at->second.low = std::min(at->second.low, one.value);
    at->second.high = std::max(at->second.high, one.value);
  }
}

/// Omits the contents of files for which one of the runs, made with an earlier version, has no
/// hash.
std::vector<RunFolder> with_known_contents(std::vector<RunFolder> runs) {
  std::set<std::string> unknown;
  for (const RunFolder& run : runs) {
    for (const auto& [key, value] : run.parameters) {
      if (!key.ends_with(content_suffix)) continue;
      const std::string named = key.substr(0, key.size() - content_suffix.size());
      if (std::ranges::any_of(runs, [&](const RunFolder& other) {
            return other.parameters.contains(named) && !other.parameters.contains(key);
          })) {
        unknown.insert(key);
      }
    }
  }
  for (RunFolder& run : runs) {
    for (const std::string& key : unknown) run.parameters.erase(key);
  }
  return runs;
}

std::string why_not_ranked(const RunFolder& run) {
  if (run.state == RunState::missing) return state_text(run.state);
  std::string text =
      fmt::format("{} after {} of {} epochs", state_text(run.state), run.epochs_done, run.epochs);
  if (run.state == RunState::running) {
    text = fmt::format("running, {} of {} epochs are done", run.epochs_done, run.epochs);
  }
  if (!run.note.empty()) text += ": " + run.note.substr(0, run.note.find('\n'));
  return text;
}

/// Whether the weights were selected on the data of this value, which all metrics of a flow share.
bool is_biased(const std::vector<Score>& scores, const MetricValue& value) {
  return std::ranges::any_of(scores, [&](const Score& score) {
    return score.flow == value.flow && score.selected_on == SelectedOn::test;
  });
}

/// The values next to the score in score.json.
std::vector<Score::Beside> beside_of(const std::vector<Score>& scores, const std::string& metric,
                                     const MetricValue& value) {
  const auto found = std::ranges::find_if(scores, [&](const Score& score) {
    return score.metric == metric && score.flow == value.flow;
  });
  return found == scores.end() ? std::vector<Score::Beside>() : found->beside;
}

std::string why_not_measured(const RunFolder& run, const Comparison& comparison) {
  const std::vector<MetricValue> values = read_metric(run.path, comparison.metric);
  if (!values.empty()) {
    return fmt::format("flow '{}' never recorded {}, but '{}' did", comparison.flow,
                       comparison.metric, values.back().flow);
  }
  const std::string nearest = did_you_mean(comparison.metric, metric_names(run.path));
  return fmt::format("it never recorded {}{}", comparison.metric,
                     nearest.empty() ? "" : "; " + nearest);
}

}  // namespace

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

std::vector<Ranking> rank(const std::vector<ScoredRun>& runs, Better better,
                          std::vector<Unranked>& unranked) {
  const std::vector<Comparable> parts = split_by_data(runs);
  std::vector<Parameters> identities;
  for (const Comparable& part : parts) {
    identities.push_back(part.data);
    identities.back().insert(part.counts.begin(), part.counts.end());
  }
  std::vector<const Parameters*> all;
  for (const Parameters& identity : identities) all.push_back(&identity);
  const std::set<std::string> keys = differing(all);
  std::vector<Ranking> rankings;
  for (std::size_t at = 0; at < parts.size(); ++at) {
    Ranking& ranking = rankings.emplace_back();
    ranking.data = only(identities[at], keys);
    ranking.groups = grouped(parts[at].runs, unranked);
    measure(ranking.groups, better);
    for (const ScoredRun* run : parts[at].runs) note_beside(run->beside, ranking.beside);
  }
  return rankings;
}

Comparison compare_runs(const std::vector<RunFolder>& all, const ComparisonChoice& choice) {
  const std::vector<RunFolder> runs = with_known_contents(all);
  Comparison comparison;
  MetricChoice metric(choice, comparison);
  std::vector<const RunFolder*> complete;
  std::map<const RunFolder*, std::vector<Score>> headlines;
  for (const RunFolder& run : runs) {
    if (run.state != RunState::complete) {
      comparison.unranked.push_back({run.name, why_not_ranked(run)});
      continue;
    }
    complete.push_back(&run);
    headlines[&run] = read_headlines(run.path);
    metric.add(run, headlines[&run]);
  }
  if (complete.empty()) return comparison;
  metric.settle();
  std::vector<ScoredRun> scored;
  for (const RunFolder* run : complete) {
    const auto value = choose_value(read_metric(run->path, comparison.metric), comparison.metric,
                                    comparison.flow, comparison.which, comparison.better);
    if (!value) {
      comparison.unranked.push_back({run->name, why_not_measured(*run, comparison)});
      continue;
    }
    if (choice.which == WhichEpoch::last && is_cut(headlines[run], comparison.metric, *value)) {
      comparison.unranked.push_back(
          {run->name, "its metrics.jsonl lacks values that score.json has; restore metrics.jsonl"});
      continue;
    }
    ScoredRun own{run->name, run->parameters, {}, {}, value->value, value->epoch, {}, {}};
    note_data(*run, value->flow, own);
    for (auto& [key, data] : own.data) data = own.parameters.at(key);
    const std::string stage = comparison.metric.substr(0, comparison.metric.find('.'));
    own.outcomes = outcome_file(run->path, value->flow, stage);
    own.beside = beside_of(headlines[run], comparison.metric, *value);
    if (is_biased(headlines[run], *value)) comparison.biased.push_back(run->name);
    own.data["protocol"] = text_parameter(run->parameters, "stage." + stage + ".protocol");
    scored.push_back(std::move(own));
  }
  if (scored.empty()) {
    refuse(fmt::format("no complete run recorded '{}'{}", comparison.metric,
                       comparison.unranked.empty() ? "" : ": " + comparison.unranked.back().why));
  }
  comparison.rankings = rank(scored, comparison.better, comparison.unranked);
  comparison.pairing = choice.pairing;
  if (choice.pairing == Pairing::observations) {
    for (Ranking& ranking : comparison.rankings) pair_observations(ranking, comparison.metric);
  }
  return comparison;
}

}  // namespace seam::host
