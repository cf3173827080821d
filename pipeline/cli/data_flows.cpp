#include "pipeline/cli/data_flows.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "pipeline/run/schedule.hpp"

namespace seam::host {
namespace {

/// Returns the source at `node` and the stages that prepare its images, in order.
std::vector<std::string> preparing_chain(const CheckedPipeline& pipeline, const FlowSpec& flow,
                                         std::size_t node) {
  std::vector<std::string> chain{flow.nodes[node].stage};
  std::set<std::string> fields;
  const auto provide = [&](const StageRunner& stage) {
    for (const FieldInfo& field : stage.description().provides) fields.insert(field.name);
  };
  provide(*pipeline.stages.at(chain.front()));
  for (;;) {
    // At a fork, follow the first branch.
    const auto next = std::ranges::find_if(flow.nodes, [&](const FlowNode& one) {
      return one.inputs.size() == 1 && one.inputs.front() == node;
    });
    if (next == flow.nodes.end()) return chain;
    node = static_cast<std::size_t>(next - flow.nodes.begin());
    const StageRunner& stage = *pipeline.stages.at(next->stage);
    if (stage.kind() == StageKind::collector && !stage.description().replaces_packets) continue;
    const bool is_transform =
        stage.kind() == StageKind::transform || stage.kind() == StageKind::parallel_transform;
    const bool fed = std::ranges::all_of(stage.description().needs, [&](const FieldInfo& field) {
      return fields.contains(field.name);
    });
    if (!is_transform || !fed || stage.on_compute_thread()) return chain;
    chain.push_back(next->stage);
    provide(stage);
  }
}

FlowSpec flow_of(const std::vector<std::string>& chain, std::string name) {
  FlowSpec flow;
  flow.name = std::move(name);
  for (std::size_t at = 0; at < chain.size(); ++at) {
    FlowNode node;
    node.stage = chain[at];
    if (at > 0) node.inputs = {at - 1};
    flow.nodes.push_back(std::move(node));
    flow.text += (at > 0 ? " -> " : "") + chain[at];
  }
  return flow;
}

}  // namespace

std::vector<FlowSpec> data_flows(const CheckedPipeline& pipeline) {
  std::vector<FlowSpec> flows;
  std::set<std::vector<std::string>> seen;
  for (const std::string& scheduled : scheduled_flows(pipeline.spec.schedule)) {
    const FlowSpec& flow = flow_named(pipeline.spec, scheduled);
    for (std::size_t node = 0; node < flow.nodes.size(); ++node) {
      if (!flow.nodes[node].inputs.empty()) continue;
      const std::vector<std::string> chain = preparing_chain(pipeline, flow, node);
      if (chain.size() < 2 || !seen.insert(chain).second) continue;
      const auto uses = std::ranges::count_if(
          flows, [&](const FlowSpec& one) { return one.nodes.front().stage == chain.front(); });
      flows.push_back(flow_of(
          chain, chain.front() + (uses > 0 ? "_" + std::to_string(uses + 1) : std::string())));
    }
  }
  return flows;
}

}  // namespace seam::host
