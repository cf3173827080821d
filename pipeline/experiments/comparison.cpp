#include "pipeline/experiments/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <utility>

#include "pipeline/config/variants.hpp"
#include "pipeline/experiments/comparison_data.hpp"
#include "pipeline/experiments/metric_choice.hpp"
#include "pipeline/experiments/outcomes.hpp"
#include "pipeline/experiments/paired.hpp"
#include "pipeline/experiments/sweep_plan.hpp"
#include "pipeline/text/lists.hpp"
#include "pipeline/text/nearest.hpp"
#include "pipeline/text/refuse.hpp"

namespace seam::host {
namespace fs = std::filesystem;
namespace {

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

bool is_used_replicate(const ScoredRun& run, const std::string& key) {
  return run.roles.is_replicate(key) && run.roles.is_used(key, run.parameters);
}

/// Seed and folds.
Parameters replicate_of(const ScoredRun& run) {
  Parameters replicate;
  for (const auto& [key, value] : run.parameters) {
    if (is_used_replicate(run, key)) replicate[key] = value;
  }
  return replicate;
}

/// Runs that may be ranked together.
struct ComparableRuns {
  Parameters data;
  Parameters counts;
  std::vector<const ScoredRun*> runs;
};

std::vector<ComparableRuns> split_by_data(const std::vector<ScoredRun>& runs) {
  std::vector<ComparableRuns> parts;
  for (const ScoredRun& run : runs) {
    const auto fits = [&](const ComparableRuns& part) {
      return part.data == run.data && agree(part.counts, run.counts);
    };
    auto part = std::ranges::find_if(parts, fits);
    if (part == parts.end()) part = parts.insert(parts.end(), {run.data, {}, {}});
    part->counts.insert(run.counts.begin(), run.counts.end());
    part->runs.push_back(&run);
  }
  std::ranges::stable_sort(parts, std::greater(),
                           [](const ComparableRuns& part) { return part.runs.size(); });
  return parts;
}

/// The keys that pipeline files decide: with the same variants, they are equal in all runs of a
/// file and were not changed by --set. The content of a list counts only if different lists are
/// named.
std::set<std::string> decided_by_files(const std::vector<const ScoredRun*>& runs,
                                       const std::set<std::string>& keys,
                                       const std::set<std::string>& variants) {
  std::map<std::pair<std::string, Parameters>, const ScoredRun*> first;
  std::set<std::string> decided = keys;
  std::erase_if(decided, [&](const std::string& key) {
    const std::string named = key.substr(0, key.rfind(content_suffix));
    return named == from_key || key.ends_with(listing_suffix) ||
           (named != key && !keys.contains(named));
  });
  for (const ScoredRun* run : runs) {
    const ScoredRun& like =
        *first.try_emplace({run->file, only(run->parameters, variants)}, run).first->second;
    std::erase_if(decided, [&](const std::string& key) {
      const std::string* own = find(run->parameters, key);
      const std::string* other = find(like.parameters, key);
      const bool equal = own == other || (own != nullptr && other != nullptr && *own == *other);
      return !equal || is_set_by_user(run->parameters, key);
    });
  }
  return decided;
}

/// "sccapsnet" for each file; with its folder if two files have the same name.
std::map<std::string, std::string> names_of_files(const std::vector<ScoredRun>& runs) {
  std::map<std::string, std::string> names;
  std::map<std::string, int> uses;
  for (const ScoredRun& run : runs) {
    if (!names.contains(run.file)) ++uses[names[run.file] = fs::path(run.file).stem()];
  }
  for (auto& [file, name] : names) {
    if (uses[name] > 1) name = file;
  }
  return names;
}

/// One group per combination of parameters; a run that repeats another one goes to `unranked`.
/// `files`: the names of all pipeline files; if there are several, they are shown, and keys that
/// they decide are added to `by_files`.
std::vector<Group> grouped(const std::vector<const ScoredRun*>& runs,
                           const std::map<std::string, std::string>& files,
                           std::vector<Unranked>& unranked, std::set<std::string>& by_files) {
  const auto all = mapped(runs, [](const ScoredRun* run) { return &run->parameters; });
  std::set<std::string> keys = differing(all);
  std::set<std::string> decided = decided_by_variants(all);
  std::set<std::string> variants = keys;
  std::erase_if(variants, [](const std::string& key) { return !is_variant_key(key); });
  // Only a key that is a setting in none of the runs is left out: their stages may differ.
  std::set<std::string> repeats;
  std::ranges::copy_if(keys, std::inserter(repeats, repeats.end()), [&](const std::string& key) {
    return std::ranges::none_of(runs, [&](const ScoredRun* run) {
      const bool set = run->parameters.contains(key);
      return set && !run->roles.is_replicate(key) && run->roles.changes_results(key);
    });
  });
  std::erase_if(keys, [&](const std::string& key) { return repeats.contains(key); });
  std::set<std::string> folds;  // used by some of the runs
  for (const std::string& key : repeats) {
    const auto uses = [&](const ScoredRun* run) { return is_used_replicate(*run, key); };
    const auto used = std::ranges::count_if(runs, uses);
    if (used > 0 && used < std::ssize(runs)) folds.insert(key);
  }
  if (files.size() > 1) by_files = decided_by_files(runs, keys, variants);
  decided.insert(by_files.begin(), by_files.end());
  std::vector<Group> groups;
  std::vector<Parameters> identities;  // of the groups: keys shown or decided by variants
  for (const ScoredRun* run : runs) {
    Parameters own = only(run->parameters, keys);
    for (const std::string& key : folds) {
      own[key] = is_used_replicate(*run, key) ? one_fold : "not set";
    }
    const auto identity = std::ranges::find(identities, own);
    auto group = groups.begin() + (identity - identities.begin());
    if (identity == identities.end()) {
      identities.push_back(own);
      group = groups.insert(groups.end(), Group());
      std::erase_if(own, [&](const auto& entry) { return decided.contains(entry.first); });
      own.merge(only(run->parameters, variants));
      if (files.size() > 1) own["file"] = files.at(run->file);
      group->parameters = own;
    }
    const Parameters replicate = replicate_of(*run);
    const auto twin = std::ranges::find(group->members, replicate, &GroupMember::replicate);
    if (twin != group->members.end()) {
      const bool same = twin->value == run->value;
      unranked.push_back({run->name, fmt::format("it repeats {}{}", twin->name,
                                                 same ? std::string()
                                                      : fmt::format(", but has {} instead of {}",
                                                                    run->value, twin->value))});
      continue;
    }
    group->members.push_back(
        {run->name, replicate, run->value, run->epoch, run->outcomes, run->further});
  }
  return groups;
}

/// Seeds within a fold are trained and evaluated on the same images: only folds are independent.
/// Returns the mean of each fold, or, with a single fold, the values as they are.
std::vector<double> observations_of(const std::map<Parameters, std::vector<double>>& by_folds) {
  if (by_folds.size() == 1) return by_folds.begin()->second;
  return mapped(by_folds, [](const auto& fold) { return mean_of(fold.second); });
}

Parameters folds_of(const GroupMember& member) {
  Parameters folds = member.replicate;
  folds.erase("pipeline.seed");
  return folds;
}

std::vector<double> observations_of(const Group& group,
                                    const std::function<double(const GroupMember&)>& value) {
  std::map<Parameters, std::vector<double>> by_folds;
  for (const GroupMember& member : group.members)
    by_folds[folds_of(member)].push_back(value(member));
  return observations_of(by_folds);
}

Mean mean_over(const std::vector<double>& values) {
  if (!std::ranges::all_of(values, [](double v) { return std::isfinite(v); })) {
    return {std::numeric_limits<double>::quiet_NaN(), {}, {}};
  }
  Mean mean{mean_of(values), deviation_of(values), {}};
  if (mean.deviation) {
    mean.standard_error = *mean.deviation / std::sqrt(static_cast<double>(values.size()));
  }
  return mean;
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
    const std::vector<double> values = observations_of(group, &GroupMember::value);
    group.observations = values.size();
    static_cast<Mean&>(group) = mean_over(values);
    for (std::size_t at = 0; at < group.members.front().further.size(); ++at) {
      group.further.push_back(mean_over(
          observations_of(group, [at](const GroupMember& one) { return one.further[at]; })));
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

void note_beside(const std::vector<Score::Beside>& values, std::map<std::string, Bounds>& beside) {
  for (const Score::Beside& one : values) {
    if (std::isnan(one.value)) continue;
    const auto [at, added] = beside.try_emplace(one.name, Bounds{one.value, one.value});
    at->second.low = std::min(at->second.low, one.value);
    at->second.high = std::max(at->second.high, one.value);
  }
}

std::string why_not_ranked(const RunFolder& run) {
  if (run.state == RunState::missing) return state_text(run.state);
  std::string text = state_text(run.state);
  if (run.epochs > 0) text += fmt::format(" after {} of {} epochs", run.epochs_done, run.epochs);
  if (run.state == RunState::running) {
    text = fmt::format("running, {} of {} epochs are done", run.epochs_done, run.epochs);
  }
  if (!run.note.empty()) text += ": " + run.note.substr(0, run.note.find('\n'));
  return text;
}

/// Notes whether the weights were selected on the data of this value, which all metrics of a flow
/// share.
void note_bias(const RunFolder& run, const std::vector<Score>& scores, const MetricValue& value,
               std::vector<std::string>& biased) {
  const bool is_biased = std::ranges::any_of(scores, [&](const Score& score) {
    return score.flow == value.flow && score.selected_on == SelectedOn::test;
  });
  if (is_biased) add_unless_present(biased, run.name);
}

/// The values next to the score in score.json.
std::vector<Score::Beside> beside_of(const std::vector<Score>& scores, const std::string& metric,
                                     const MetricValue& value) {
  const auto found = std::ranges::find_if(scores, [&](const Score& score) {
    return score.metric == metric && score.flow == value.flow;
  });
  return found == scores.end() ? std::vector<Score::Beside>() : found->beside;
}

std::string why_not_measured(const RunFolder& run, const std::string& metric,
                             const std::string& flow) {
  const std::vector<MetricValue> values = read_metric(run.path, metric);
  if (!values.empty()) {
    return fmt::format("flow '{}' never recorded {}, but '{}' did", flow, metric,
                       values.back().flow);
  }
  return fmt::format("it never recorded {}{}", metric, suggestion(metric, metric_names(run.path)));
}

/// The pipeline file; for a run of a sweep, the original instead of the copy in the sweep folder.
std::string file_of(const RunFolder& run) {
  const fs::path sweep = fs::path(run.pipeline).parent_path().parent_path();
  return is_sweep_folder(sweep) ? read_plan(sweep).file : run.pipeline;
}

/// Adds the further metrics. With WhichEpoch::best, they are taken from the epoch in which the
/// ranking metric was best: `value`. Returns false if a metric was not measured, and adds the run
/// to `unranked`.
bool add_further(const RunFolder& run, const std::vector<Score>& headlines, Comparison& comparison,
                 const MetricValue& value, ScoredRun& scored) {
  for (const std::string& name : comparison.further) {
    auto [flow, metric] = flow_and_metric(name);
    const auto headline = std::ranges::find(headlines, metric, &Score::metric);
    if (flow.empty() && headline != headlines.end()) flow = headline->flow;
    std::vector<MetricValue> values = read_metric(run.path, metric);
    if (comparison.which == WhichEpoch::best) {
      std::erase_if(values, [&](const MetricValue& one) {
        return one.epoch != value.epoch || one.when != value.when;
      });
    }
    const auto own = choose_value(values, metric, flow, WhichEpoch::last, Better::higher);
    if (!own) {
      const bool other_epoch = !read_metric(run.path, metric).empty() && values.empty();
      comparison.unranked.push_back(
          {run.name, other_epoch ? fmt::format("it did not record {} in its best epoch, {}", metric,
                                               value.epoch + 1)
                                 : why_not_measured(run, metric, flow)});
      return false;
    }
    const std::string stage = metric.substr(0, metric.find('.'));
    note_data(run, own->flow, stage, scored);
    scored.further.push_back(own->value);
    scored.further_beside.push_back(beside_of(headlines, metric, *own));
    if (const std::string key = run.roles.protocol_of(stage, run.parameters); !key.empty()) {
      scored.data[key] = text_parameter(run.parameters, key);
    }
    note_bias(run, headlines, *own, comparison.biased);
  }
  return true;
}

}  // namespace

std::vector<Ranking> rank(const std::vector<ScoredRun>& runs, Better better,
                          std::vector<Unranked>& unranked) {
  const std::vector<ComparableRuns> parts = split_by_data(runs);
  std::vector<Parameters> identities;
  for (const ComparableRuns& part : parts) {
    identities.push_back(part.data);
    identities.back().insert(part.counts.begin(), part.counts.end());
  }
  const std::set<std::string> keys =
      differing(mapped(identities, [](const Parameters& identity) { return &identity; }));
  const std::map<std::string, std::string> files = names_of_files(runs);
  std::vector<Ranking> rankings;
  for (std::size_t at = 0; at < parts.size(); ++at) {
    Ranking& ranking = rankings.emplace_back();
    ranking.data = only(identities[at], keys);
    ranking.groups = grouped(parts[at].runs, files, unranked, ranking.by_files);
    measure(ranking.groups, better);
    ranking.further_beside.resize(parts[at].runs.front()->further.size());
    for (const ScoredRun* run : parts[at].runs) {
      note_beside(run->beside, ranking.beside);
      for (std::size_t metric = 0; metric < run->further_beside.size(); ++metric) {
        note_beside(run->further_beside[metric], ranking.further_beside[metric]);
      }
    }
  }
  return rankings;
}

Comparison compare_runs(const std::vector<RunFolder>& all, const ComparisonChoice& choice) {
  Comparison comparison;
  MetricChoice metric(choice, comparison);
  std::vector<RunFolder> complete;
  std::map<fs::path, std::vector<Score>> headlines_of;  // by the run's path
  for (const RunFolder& run : all) {
    if (run.state != RunState::complete) {
      comparison.unranked.push_back({run.name, why_not_ranked(run)});
      continue;
    }
    complete.push_back(run);
    headlines_of[run.path] = read_headlines(run.path);
    metric.add(run, headlines_of[run.path]);
  }
  if (complete.empty()) return comparison;
  metric.settle();
  comparison.further = choice.further;
  std::vector<MetricValue> values;
  std::erase_if(complete, [&](const RunFolder& run) {
    if (is_cut(run.path, headlines_of[run.path])) {
      comparison.unranked.push_back(
          {run.name, "its metrics.jsonl lacks values that score.json has; restore metrics.jsonl"});
      return true;
    }
    const auto value = choose_value(read_metric(run.path, comparison.metric), comparison.metric,
                                    comparison.flow, comparison.which, comparison.better);
    if (value) {
      values.push_back(*value);
    } else {
      comparison.unranked.push_back(
          {run.name, why_not_measured(run, comparison.metric, comparison.flow)});
    }
    return !value;
  });
  omit_unknown_contents(complete);
  add_listings(complete);
  std::vector<ScoredRun> scored;
  for (std::size_t at = 0; at < complete.size(); ++at) {
    const RunFolder& run = complete[at];
    const MetricValue& value = values[at];
    const std::vector<Score>& headlines = headlines_of.at(run.path);
    ScoredRun own;
    own.name = run.name;
    own.parameters = run.parameters;
    own.roles = run.roles;
    own.value = value.value;
    own.epoch = value.epoch;
    own.file = file_of(run);
    const std::string stage = comparison.metric.substr(0, comparison.metric.find('.'));
    note_data(run, value.flow, stage, own);
    if (!add_further(run, headlines, comparison, value, own)) continue;
    // Evaluations of trainings with different seeds are one group, ranked separately from
    // trainings.
    const bool evaluates = own.parameters.erase(std::string(evaluates_key)) > 0;
    own.data["run by"] = evaluates ? "seam eval" : "seam run";
    for (const auto& [key, changed] : run.evaluated_with) own.data[key + " (seam eval)"] = changed;
    if (!run.weights.empty()) own.data["weights"] = run.weights;
    own.outcomes = outcome_file(run.path, value.flow, stage);
    own.beside = beside_of(headlines, comparison.metric, value);
    note_bias(run, headlines, value, comparison.biased);
    own.data["protocol"] =
        text_parameter(run.parameters, run.roles.protocol_of(stage, run.parameters));
    scored.push_back(std::move(own));
  }
  if (scored.empty()) {
    refuse("no complete run can be ranked by '{}'{}", comparison.metric,
           comparison.unranked.empty() ? "" : ": " + comparison.unranked.back().why);
  }
  comparison.rankings = rank(scored, comparison.better, comparison.unranked);
  comparison.pairing = choice.pairing;
  if (choice.pairing == Pairing::observations) {
    for (Ranking& ranking : comparison.rankings) pair_observations(ranking, comparison.metric);
  }
  return comparison;
}

}  // namespace seam::host
