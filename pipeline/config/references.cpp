#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "pipeline/config/stages.hpp"
#include "pipeline/text/nearest.hpp"

namespace seam::host {
namespace {

/// Follows references from each stage; reports every circle once, at its first stage.
void report_circles(const std::vector<StageDraft>& stages, Findings& findings) {
  std::vector<const StageDraft*> path;
  std::set<const StageDraft*> visited;
  const std::function<void(const StageDraft&)> visit = [&](const StageDraft& stage) {
    if (!visited.insert(&stage).second) return;
    path.push_back(&stage);
    for (const auto& [parameter, target] : stage.spec.references) {
      const StageDraft* next = find_stage(stages, target);
      if (next == nullptr) continue;
      const auto start = std::ranges::find(path, next);
      if (start == path.end()) {
        visit(*next);
        continue;
      }
      std::vector<std::string> circle;
      for (auto step = start; step != path.end(); ++step) circle.push_back((*step)->spec.name);
      findings.error("reference-cycle", stage.reference_nodes.at(parameter).place,
                     fmt::format("stage '{}' refers to itself{}", circle.front(),
                                 circle.size() > 1 ? " through others" : ""),
                     {circle_text(circle)});
    }
    path.pop_back();
  };
  for (const StageDraft& stage : stages) visit(stage);
}

}  // namespace

void check_references(const std::vector<StageDraft>& stages, Findings& findings) {
  for (const StageDraft& stage : stages) {
    if (stage.runner == nullptr) continue;
    for (const ParameterInfo& parameter : stage.runner->description().parameters) {
      if (parameter.kind != ValueKind::reference) continue;
      std::vector<std::string> offering;
      for (const StageDraft& other : stages) {
        if (other.runner != nullptr && other.runner->interface(parameter.interface) != nullptr) {
          offering.push_back(other.spec.name);
        }
      }
      const std::string offered =
          offering.empty() ? "no stage of this file provides " + parameter.interface : "stages that provide it: " + enumerated(offering);
      const auto written = stage.spec.references.find(parameter.name);
      if (written == stage.spec.references.end()) {
        if (!parameter.required || stage.faulty.contains(parameter.name)) continue;
        findings.error(
            "missing-parameter", stage.spec.place,
            fmt::format("{} needs '{}': {}", described(stage), parameter.name, parameter.doc),
            {"it takes " + accepted_by(parameter), offered});
        continue;
      }
      const Place& place = stage.reference_nodes.at(parameter.name).place;
      const StageDraft* target = find_stage(stages, written->second);
      if (target == nullptr) {
        findings.error("unknown-reference", place,
                       fmt::format("there is no stage '{}', which '{}' refers to", written->second,
                                   parameter.name),
                       {did_you_mean(written->second, names_of(stages)), offered});
      } else if (target->runner != nullptr &&
                 target->runner->interface(parameter.interface) == nullptr) {
        findings.error("wrong-reference", place,
                       fmt::format("'{}' needs a stage that provides {}, which {} does not",
                                   parameter.name, parameter.interface, described(*target)),
                       {offered});
      }
    }
  }
  report_circles(stages, findings);
}

void bind_references(const std::vector<StageDraft>& stages) {
  for (const StageDraft& stage : stages) {
    for (const ParameterInfo& parameter : stage.runner->description().parameters) {
      const auto written = stage.spec.references.find(parameter.name);
      if (written == stage.spec.references.end()) continue;
      const StageDraft* target = find_stage(stages, written->second);
      stage.runner->bind(parameter.name, target->runner->interface(parameter.interface));
    }
  }
}

}  // namespace seam::host
