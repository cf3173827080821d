#include "pipeline/config/category_outputs.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <seam/category_names.hpp>
#include <seam/category_outputs.hpp>

#include "pipeline/text/lists.hpp"

namespace seam::host {
namespace {

const std::string classes_key = "classes";

/// The data sets with category names before the stage, in scheduled flows that train.
std::set<std::string> training_data(const PipelineSpec& spec, const std::vector<StageDraft>& stages,
                                    const std::string& stage) {
  std::set<std::string> data;
  for (const FlowSpec* flow : flows_that_run(spec)) {
    const bool trains = std::ranges::any_of(flow->nodes, [&](const FlowNode& node) {
      return find_stage(stages, node.stage)->runner->description().trains;
    });
    const auto here = std::ranges::find(flow->nodes, stage, &FlowNode::stage);
    if (!trains || here == flow->nodes.end()) continue;
    for (const std::size_t node :
         upstream_of(*flow, static_cast<std::size_t>(here - flow->nodes.begin()))) {
      const std::string& name = flow->nodes[node].stage;
      if (find_stage(stages, name)->runner->interface(type_name<CategoryNames>()) != nullptr) {
        data.insert(name);
      }
    }
  }
  return data;
}

}  // namespace

bool counts_categories(const ParameterInfo& parameter, const Description& description) {
  return parameter.name == classes_key &&
         contains(description.offers, type_name<CategoryOutputs>(), &OfferedInterface::interface);
}

void set_classes(const PipelineSpec& spec, std::vector<StageDraft>& stages,
                 const std::function<std::unique_ptr<StageRunner>(const StageDraft&)>& make,
                 const CategoryCount& count, const SetValues& set) {
  std::map<std::string, std::int64_t> counted;
  for (StageDraft& stage : stages) {
    if (stage.runner->interface(type_name<CategoryOutputs>()) == nullptr) continue;
    if (stage.spec.values.contains(classes_key)) continue;
    std::int64_t classes = 0;
    for (const std::string& name : training_data(spec, stages, stage.spec.name)) {
      const auto [known, first] = counted.try_emplace(name, 0);
      if (first) known->second = count(*make(*find_stage(stages, name)));
      classes = std::max(classes, known->second);
    }
    if (classes > 0) set(stage, {{classes_key, Value{classes}}});
  }
}

}  // namespace seam::host
