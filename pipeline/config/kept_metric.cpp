#include "pipeline/config/kept_metric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

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

bool runs_in_epochs(const std::string& stage, const std::vector<FlowSpec>& flows,
                    const ScheduleSpec& schedule) {
  return std::ranges::any_of(flows, [&](const FlowSpec& flow) {
    return std::ranges::find(schedule.each_epoch, flow.name, &ScheduledFlow::flow) !=
               schedule.each_epoch.end() &&
           std::ranges::find(flow.nodes, stage, &FlowNode::stage) != flow.nodes.end();
  });
}

}  // namespace

void settle_kept_metric(const Table& tree, const std::vector<StageDraft>& stages,
                        const std::vector<FlowSpec>& flows, ScheduleSpec& schedule,
                        Findings& findings) {
  KeepRule& keep = schedule.keep;
  const std::size_t dot = keep.best.find('.');
  if (dot == std::string::npos) return;  // none, or reported
  const std::string name = keep.best.substr(0, dot);
  const auto stage = std::ranges::find_if(
      stages, [&](const StageDraft& draft) { return draft.spec.name == name; });
  if (stage == stages.end() || stage->runner == nullptr) return;  // reported
  const Place& place = tree.at({"schedule", "keep", "best"})->place;
  if (!runs_in_epochs(name, flows, schedule)) {
    findings.error(
        "metric", place,
        fmt::format(
            "'keep' cannot rank epochs by '{}': no flow in 'each_epoch' contains stage '{}'",
            keep.best, name));
    return;
  }
  if (schedule.stop_early && schedule.stop_early->metric == keep.best) {
    keep.better = schedule.stop_early->goal == Goal::highest ? Better::higher : Better::lower;
    return;
  }
  const std::vector<Headline>& headlines = stage->runner->description().headlines;
  if (const auto better = direction(headlines, std::string_view(keep.best).substr(dot + 1))) {
    keep.better = *better;
    return;
  }
  std::vector<std::string> known;
  for (const StageDraft& draft : stages) {
    if (draft.runner == nullptr || !runs_in_epochs(draft.spec.name, flows, schedule)) continue;
    for (const Headline& headline : draft.runner->description().headlines) {
      known.push_back(draft.spec.name + "." + headline.metric);
    }
  }
  findings.error(
      "metric", place,
      fmt::format("'keep' cannot rank epochs by '{}': stage '{}' does not declare it as a "
                  "headline, so it is unknown whether higher or lower is better",
                  keep.best, name),
      {did_you_mean(keep.best, known),
       known.empty() ? "no stage of these flows declares a headline"
                     : "headlines of these flows (`*` matches anything): " + enumerated(known)});
}

}  // namespace seam::host
