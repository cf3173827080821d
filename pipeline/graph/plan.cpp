#include "pipeline/graph/plan.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "pipeline/text/lists.hpp"
#include "seam/network.hpp"

namespace seam::host {
namespace {

class Planner {
 public:
  Planner(const FlowSpec& flow, const std::vector<StageRunner*>& stages,
          const std::map<std::string, StageSpec>& specs)
      : flow_(flow), stages_(stages), specs_(specs) {}

  FlowPlan plan() {
    find_step();
    find_numbers();
    for (std::size_t node = 0; node < flow_.nodes.size(); ++node) {
      if (joins_previous(node)) {
        plan_.segment_of.push_back(plan_.segment_of[flow_.nodes[node].inputs.front()]);
        plan_.segments[plan_.segment_of.back()].nodes.push_back(node);
      } else {
        plan_.segment_of.push_back(plan_.segments.size());
        plan_.segments.push_back({{node}, place_of(node)});
      }
    }
    return std::move(plan_);
  }

 private:
  void find_step() {
    const bool training = trains(stages_);
    for (std::size_t node = 0; node < flow_.nodes.size(); ++node) {
      const auto& inputs = flow_.nodes[node].inputs;
      plan_.in_step.push_back(training && (stages_[node]->on_compute_thread() ||
                                           std::ranges::any_of(inputs, [this](std::size_t input) {
                                             return plan_.in_step[input];
                                           })));
    }
  }

  void find_numbers() {
    for (std::size_t node = 0; node < flow_.nodes.size(); ++node) {
      const StageKind kind = stages_[node]->kind();
      const auto& inputs = flow_.nodes[node].inputs;
      const bool renumbers =
          kind == StageKind::source || kind == StageKind::collector || inputs.empty();
      plan_.numbered_by.push_back(renumbers ? node : plan_.numbered_by[inputs.front()]);
    }
  }

  [[nodiscard]] Workplace place_of(std::size_t node) const {
    const StageRunner& stage = *stages_[node];
    if (stage.on_compute_thread() || plan_.in_step[node]) return Workplace::compute_thread;
    return stage.kind() == StageKind::parallel_transform ? Workplace::parallel_workers
                                                         : Workplace::serial_worker;
  }

  [[nodiscard]] std::optional<int> concurrency_of(std::size_t node) const {
    const auto spec = specs_.find(flow_.nodes[node].stage);
    return spec == specs_.end() ? std::nullopt : spec->second.concurrency;
  }

  /// Returns whether a node continues its input's segment: it has the same workplace, the edge has
  /// no other consumer, and packets pass one at a time anyway or their order does not matter.
  [[nodiscard]] bool joins_previous(std::size_t node) const {
    const FlowNode& flow_node = flow_.nodes[node];
    if (flow_node.inputs.size() != 1) return false;
    const std::size_t input = flow_node.inputs.front();
    const auto users = std::ranges::count_if(flow_.nodes, [input](const FlowNode& other) {
      return std::ranges::count(other.inputs, input) > 0;
    });
    const StageKind before = stages_[input]->kind();
    const Workplace place = place_of(node);
    return users == 1 && place == place_of(input) && place != Workplace::serial_worker &&
           concurrency_of(input) == concurrency_of(node) && before != StageKind::source &&
           before != StageKind::collector && stages_[node]->kind() != StageKind::collector;
  }

  const FlowSpec& flow_;  // the caller owns these three
  const std::vector<StageRunner*>& stages_;
  const std::map<std::string, StageSpec>& specs_;
  FlowPlan plan_;
};

}  // namespace

std::vector<StageRunner*> runners_of(
    const FlowSpec& flow, const std::map<std::string, std::unique_ptr<StageRunner>>& stages) {
  return mapped(flow.nodes, [&](const FlowNode& node) { return stages.at(node.stage).get(); });
}

FlowPlan plan_of(const FlowSpec& flow, const std::vector<StageRunner*>& stages,
                 const std::map<std::string, StageSpec>& specs) {
  return Planner(flow, stages, specs).plan();
}

std::vector<std::size_t> batch_makers_of(const FlowSpec& flow,
                                         const std::vector<StageRunner*>& stages) {
  std::vector<std::size_t> makers;
  for (std::size_t node = 0; node < stages.size(); ++node) {
    const StageKind kind = stages[node]->kind();
    if (kind != StageKind::source && kind != StageKind::collector) continue;
    const std::vector<std::size_t> upstream = upstream_of(flow, node);
    if (std::ranges::any_of(upstream,
                            [&](std::size_t at) { return stages[at]->on_compute_thread(); })) {
      continue;
    }
    std::erase_if(makers, [&](std::size_t maker) { return contains(upstream, maker); });
    makers.push_back(node);
  }
  return makers;
}

std::set<std::size_t> numberings_of_step(const FlowSpec& flow, const FlowPlan& plan) {
  std::set<std::size_t> numberings;
  for (std::size_t node = 0; node < flow.nodes.size(); ++node) {
    if (!plan.in_step[node]) continue;
    for (const std::size_t input : flow.nodes[node].inputs) {
      if (!plan.in_step[input]) numberings.insert(plan.numbered_by[input]);
    }
  }
  return numberings;
}

bool networks_have_an_order(const FlowPlan& plan, const std::vector<StageRunner*>& stages) {
  std::set<std::size_t> segments;
  for (std::size_t node = 0; node < stages.size(); ++node) {
    const bool is_network = stages[node]->interface(type_name<DescribesNetwork>()) != nullptr;
    if (is_network) segments.insert(plan.segment_of[node]);
  }
  return segments.size() < 2;
}

bool trains(const std::vector<StageRunner*>& stages) {
  return std::ranges::any_of(stages,
                             [](const StageRunner* stage) { return stage->description().trains; });
}

}  // namespace seam::host
