#include "pipeline/run/labels_read.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "pipeline/config/load.hpp"
#include "pipeline/run/run_stages.hpp"
#include "pipeline/run/schedule.hpp"
#include "pipeline/text/lists.hpp"
#include "seam/field.hpp"

namespace seam::host {
namespace {

constexpr std::array labels{field::category.name, field::categories.name};

bool reads(const StageRunner& stage, std::string_view label) {
  const Description& says = stage.description();
  if (contains(says.labels_read, label)) return true;
  const bool transforms =
      stage.kind() == StageKind::transform || stage.kind() == StageKind::parallel_transform;
  return transforms && contains(says.needs, label, &FieldInfo::name) &&
         std::ranges::any_of(says.provides,
                             [](const FieldInfo& field) { return field.name != field_name::loss; });
}

}  // namespace

std::vector<LabelRead> labels_read(const CheckedPipeline& pipeline) {
  std::vector<LabelRead> found;
  const std::vector<std::string> scheduled = scheduled_flows(pipeline.spec.schedule);
  for (const FlowSpec& flow : pipeline.spec.flows) {
    if (!contains(scheduled, flow.name)) continue;
    if (trains(pipeline, flow)) continue;
    for (const FlowNode& node : flow.nodes) {
      for (const std::string_view label : labels) {
        if (!reads(*pipeline.stages.at(node.stage), label)) continue;
        found.push_back({flow.name, node.stage, std::string(label)});
      }
    }
  }
  return found;
}

std::string labels_text(const std::vector<LabelRead>& reads) {
  std::string text;
  for (const LabelRead& read : reads) {
    text += read.flow + " reads labels: " + read.field + " in " + read.stage + "\n";
  }
  return text;
}

}  // namespace seam::host
