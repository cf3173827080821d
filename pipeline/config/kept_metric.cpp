#include "pipeline/config/kept_metric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "pipeline/text/lists.hpp"
#include "pipeline/text/nearest.hpp"
#include "seam/name_pattern.hpp"

namespace seam::host {
namespace {

constexpr std::string_view error_suffix = ".standard_error";  // uncertainty of a headline

std::optional<Better> direction(const std::vector<Headline>& headlines, std::string_view metric) {
  if (metric.ends_with(error_suffix)) return std::nullopt;
  const auto found = std::ranges::find_if(
      headlines, [&](const Headline& headline) { return matches(headline.metric, metric); });
  return found == headlines.end() ? std::nullopt : std::optional(found->better);
}

/// The flows of the epochs that contain the stage.
std::vector<std::string> flows_in_epochs(const std::string& stage,
                                         const std::vector<FlowSpec>& flows,
                                         const ScheduleSpec& schedule) {
  std::vector<std::string> found;
  for (const FlowSpec& flow : flows) {
    const bool scheduled = contains(schedule.each_epoch, flow.name, &ScheduledFlow::flow);
    const bool has_stage = contains(flow.nodes, stage, &FlowNode::stage);
    if (scheduled && has_stage) found.push_back(flow.name);
  }
  return found;
}

/// A metric by which epochs are ranked, and the stage that records it.
struct Ranking {
  const StageDraft* stage = nullptr;  ///< null: there is none, or it was reported
  std::string metric;                 ///< of the stage
};

/// Reports a metric whose stage is in no flow of the epochs, or in several: their values would be
/// mixed.
Ranking ranking_by(const std::string& key, const std::string& metric, const Place& place,
                   const std::vector<StageDraft>& stages, const std::vector<FlowSpec>& flows,
                   PipelineOf of, const ScheduleSpec& schedule, Findings& findings) {
  const std::size_t dot = metric.find('.');
  if (dot == std::string::npos) return {};  // none, or reported
  const std::string name = metric.substr(0, dot);
  const StageDraft* stage = find_stage(stages, name);
  if (stage == nullptr || stage->runner == nullptr) return {};  // reported
  const std::vector<std::string> found = flows_in_epochs(name, flows, schedule);
  if (found.empty()) {
    findings.error("metric", place,
                   fmt::format("'{}' cannot rank epochs by '{}': no flow in 'each_epoch' contains "
                               "stage '{}'",
                               key, metric, name));
    return {};
  }
  if (found.size() > 1 && of == PipelineOf::user) {
    findings.error(
        "metric", place,
        fmt::format("'{}' cannot rank epochs by '{}': flows {} of 'each_epoch' contain stage '{}', "
                    "and their values would be mixed; use a separate stage in one of them, with "
                    "like = \"{}\"",
                    key, metric, enumerated(found), name, name));
    return {};
  }
  return {stage, metric.substr(dot + 1)};
}

/// Without 'goal', the direction that the stage declares. Reports a goal that contradicts it.
void settle_goal(const Table& tree, const Ranking& ranking, StopEarly& rule, Findings& findings) {
  const auto better = direction(ranking.stage->runner->description().headlines, ranking.metric);
  if (!better) return;
  const Goal declared = *better == Better::higher ? Goal::highest : Goal::lowest;
  const Node* const given = tree.at({"schedule", "stop_early", "goal"});
  if (given != nullptr && rule.goal != declared) {
    findings.error("metric", given->place,
                   fmt::format("'{}' is better if it is {}: set goal = \"{}\", or remove it",
                               rule.metric, declared == Goal::highest ? "higher" : "lower",
                               declared == Goal::highest ? "highest" : "lowest"));
  }
  rule.goal = declared;
}

}  // namespace

void settle_kept_metric(const Table& tree, const std::vector<StageDraft>& stages,
                        const std::vector<FlowSpec>& flows, PipelineOf of, ScheduleSpec& schedule,
                        Findings& findings) {
  KeepRule& keep = schedule.keep;
  if (schedule.stop_early) {
    const Ranking ranking = ranking_by("stop_early", schedule.stop_early->metric,
                                       tree.at({"schedule", "stop_early", "metric"})->place, stages,
                                       flows, of, schedule, findings);
    if (ranking.stage != nullptr && of == PipelineOf::user) {
      settle_goal(tree, ranking, *schedule.stop_early, findings);
    }
    if (schedule.stop_early->metric == keep.best) {
      keep.better = schedule.stop_early->goal == Goal::highest ? Better::higher : Better::lower;
      return;
    }
  }
  if (keep.best.empty()) return;
  const Place& place = tree.at({"schedule", "keep", "best"})->place;
  const Ranking ranking =
      ranking_by("keep", keep.best, place, stages, flows, of, schedule, findings);
  if (ranking.stage == nullptr) return;
  const std::vector<Headline>& headlines = ranking.stage->runner->description().headlines;
  if (const auto better = direction(headlines, ranking.metric)) {
    keep.better = *better;
    return;
  }
  std::vector<std::string> known;
  for (const StageDraft& draft : stages) {
    if (draft.runner == nullptr) continue;
    if (flows_in_epochs(draft.spec.name, flows, schedule).empty()) continue;
    for (const Headline& headline : draft.runner->description().headlines) {
      known.push_back(draft.spec.name + "." + headline.metric);
    }
  }
  findings.error(
      "metric", place,
      fmt::format("'keep' cannot rank epochs by '{}': stage '{}' does not declare it as a "
                  "headline, so it is unknown whether higher or lower is better",
                  keep.best, ranking.stage->spec.name),
      {did_you_mean(keep.best, known),
       known.empty() ? "no stage of these flows declares a headline"
                     : "headlines of these flows (`*` matches anything): " + enumerated(known)});
}

}  // namespace seam::host
