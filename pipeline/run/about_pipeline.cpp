#include "pipeline/run/about_pipeline.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "pipeline/run/data_files.hpp"
#include "pipeline/run/run_directory.hpp"
#include "pipeline/run/schedule.hpp"

namespace seam::host {
namespace {

/// "stage.model.weights"
bool is_initial(const CheckedPipeline& pipeline, const std::string& key) {
  for (const auto& [name, runner] : pipeline.stages) {
    for (const ParameterInfo& parameter : runner->description().parameters) {
      if (parameter.initial && key == "stage." + name + "." + parameter.name) return true;
    }
  }
  return false;
}

/// Whether the path has the same content as in the run, or one that is not recorded.
bool has_same_content(const CheckedPipeline& pipeline, const std::filesystem::path& run,
                      const std::string& key) {
  const auto hash = [&](const std::map<std::string, std::string>& data) {
    const auto found = data.find(key);
    return found == data.end() ? std::string() : found->second;
  };
  return hash(data_files(pipeline)) == hash(read_launch(run).data);
}

/// "stage.recall.k", if the epochs evaluate with that stage and do not train with it; not for a
/// stage that only writes, nor for a folder or a file that has only moved.
bool is_of_evaluation(const CheckedPipeline& pipeline, const std::filesystem::path& run,
                      const std::string& key) {
  if (!trains(pipeline)) return false;
  for (const auto& [name, runner] : pipeline.stages) {
    const std::string prefix = "stage." + name + ".";
    if (!key.starts_with(prefix) || runner->description().only_writes) continue;
    bool evaluates = false;
    for (const ScheduledFlow& scheduled : pipeline.spec.schedule.each_epoch) {
      const FlowSpec& flow = flow_named(pipeline.spec, scheduled.flow);
      if (std::ranges::find(flow.nodes, name, &FlowNode::stage) == flow.nodes.end()) continue;
      if (trains(pipeline, flow)) return false;
      evaluates = true;
    }
    const bool is_path =
        std::ranges::any_of(runner->description().parameters, [&](const ParameterInfo& parameter) {
          return parameter.kind == ValueKind::path && prefix + parameter.name == key;
        });
    return evaluates && !(is_path && has_same_content(pipeline, run, key));
  }
  return false;
}

}  // namespace

AboutPipeline about(const CheckedPipeline& pipeline, std::filesystem::path from) {
  return {[&pipeline](const std::string& flow) {
            return trains(pipeline, flow_named(pipeline.spec, flow));
          },
          [&pipeline](const std::string& key) { return is_initial(pipeline, key); },
          [&pipeline, from = std::move(from)](const std::string& key) {
            return is_of_evaluation(pipeline, from, key);
          }};
}

}  // namespace seam::host
