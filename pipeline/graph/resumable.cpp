#include "pipeline/graph/resumable.hpp"

#include <algorithm>
#include <set>

namespace seam::host {
namespace {

class Finder {
 public:
  Finder(const FlowSpec& flow, const FlowPlan& plan, const std::vector<StageRunner*>& stages,
         const std::map<std::string, StageSpec>& specs)
      : flow_(flow), plan_(plan), stages_(stages), specs_(specs) {
    found_.replay.assign(flow.nodes.size(), Replay::whole);
  }

  Resumable find() {
    found_.obstacle = find_step();
    if (found_.obstacle.empty()) found_.obstacle = find_collector();
    if (found_.obstacle.empty()) found_.obstacle = find_inputs();
    if (found_.obstacle.empty()) found_.obstacle = find_state();
    return std::move(found_);
  }

 private:
  [[nodiscard]] std::string named(std::size_t node) const {
    return "'" + flow_.nodes[node].stage + "'";
  }
  [[nodiscard]] std::vector<std::size_t> users_of(std::size_t node) const {
    std::vector<std::size_t> users;
    for (std::size_t other = node + 1; other < flow_.nodes.size(); ++other) {
      if (std::ranges::count(flow_.nodes[other].inputs, node) > 0) users.push_back(other);
    }
    return users;
  }

  std::string find_step() {
    std::vector<std::size_t> entries;
    bool trains = false;
    for (std::size_t node = 0; node < flow_.nodes.size(); ++node) {
      if (!plan_.in_step[node]) continue;
      trains = true;
      found_.replay[node] = Replay::none;
      const StageKind kind = stages_[node]->kind();
      if (kind == StageKind::source || kind == StageKind::collector) {
        return named(node) + " makes packets inside the training step";
      }
      for (const std::size_t input : flow_.nodes[node].inputs) {
        if (!plan_.in_step[input]) entries.push_back(input);
      }
    }
    if (!trains) return "it does not train";
    if (entries.size() != 1) return "several branches lead into the training step";
    entry_ = entries.front();
    return {};
  }

  std::string find_collector() {
    std::size_t node = entry_;
    while (true) {
      if (users_of(node).size() != 1) return "the flow branches after " + named(node);
      const StageKind kind = stages_[node]->kind();
      if (kind == StageKind::collector) break;
      const auto& inputs = flow_.nodes[node].inputs;
      if (kind != StageKind::parallel_transform || inputs.size() != 1) {
        return named(node) + " is between the batching collector and the training step";
      }
      found_.replay[node] = Replay::batches;
      node = inputs.front();
    }
    found_.collector = node;
    found_.replay[node] = Replay::inputs;
    return {};
  }

  std::string find_inputs() {
    for (std::size_t node = 0; node < flow_.nodes.size(); ++node) {
      const auto& inputs = flow_.nodes[node].inputs;
      for (const std::size_t input : inputs) {
        if (plan_.numbered_by[input] != plan_.numbered_by[inputs.front()]) {
          return "branches with different packet numbering join before " + named(node);
        }
      }
    }
    found_.numbering = plan_.numbered_by[flow_.nodes[found_.collector].inputs.front()];
    for (std::size_t node = 0; node < flow_.nodes.size(); ++node) {
      const auto& inputs = flow_.nodes[node].inputs;
      if (inputs.empty() || node == found_.collector) continue;
      if (plan_.numbered_by[inputs.front()] != found_.numbering) continue;
      if (stages_[node]->kind() != StageKind::parallel_transform) {
        return named(node) + " is a serial stage and has to process every packet of the flow";
      }
      found_.replay[node] = Replay::inputs;
    }
    return {};
  }

  /// Stages that are run again, or that skip packets, must not depend on state that the training
  /// step has changed.
  [[nodiscard]] std::string find_state() const {
    std::set<std::string> changed;
    for (std::size_t node = 0; node < flow_.nodes.size(); ++node) {
      if (found_.replay[node] == Replay::none) changed.insert(flow_.nodes[node].stage);
    }
    for (std::size_t node = 0; node < flow_.nodes.size(); ++node) {
      if (found_.replay[node] == Replay::none) continue;
      if (stages_[node]->description().keeps_state) {
        return named(node) + " has state outside the training step";
      }
      std::set<std::string> seen;
      if (refers_to(flow_.nodes[node].stage, changed, seen)) {
        return named(node) + " refers to a stage of the training step";
      }
    }
    return {};
  }

  // NOLINTNEXTLINE(misc-no-recursion): references are not circular, and `seen` would end a circle
  [[nodiscard]] bool refers_to(const std::string& stage, const std::set<std::string>& targets,
                               std::set<std::string>& seen) const {
    const auto spec = specs_.find(stage);
    if (spec == specs_.end() || !seen.insert(stage).second) return false;
    return std::ranges::any_of(spec->second.references, [&](const auto& reference) {
      return targets.contains(reference.second) || refers_to(reference.second, targets, seen);
    });
  }

  const FlowSpec& flow_;  // the caller owns these four
  const FlowPlan& plan_;
  const std::vector<StageRunner*>& stages_;
  const std::map<std::string, StageSpec>& specs_;
  std::size_t entry_ = 0;  // the node whose packets enter the step
  Resumable found_;
};

}  // namespace

Resumable resumable_of(const FlowSpec& flow, const FlowPlan& plan,
                       const std::vector<StageRunner*>& stages,
                       const std::map<std::string, StageSpec>& specs) {
  return Finder(flow, plan, stages, specs).find();
}

}  // namespace seam::host
