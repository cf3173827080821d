#include "pipeline/graph/sharding.hpp"

#include <algorithm>
#include <utility>

#include "seam/shard.hpp"

namespace seam::host {
namespace {

template <class Interface>
Interface* offered(const StageRunner& stage) {
  return static_cast<Interface*>(stage.interface(type_name<Interface>()));
}

class Splitter {
 public:
  Splitter(const FlowSpec& flow, const FlowPlan& plan, const std::vector<StageRunner*>& stages)
      : flow_(flow), plan_(plan), stages_(stages) {
    found_.blocks.assign(flow.nodes.size(), 0);
  }

  Sharding split() {
    for (std::size_t node = 0; node < flow_.nodes.size() && found_.obstacle.empty(); ++node) {
      found_.obstacle = obstacle_at(node);
    }
    std::ranges::replace(found_.blocks, 0, 1);  // sources without batches
    return std::move(found_);
  }

 private:
  [[nodiscard]] std::string named(std::size_t node) const {
    return "'" + stages_[node]->name() + "' (" + stages_[node]->type() + ")";
  }

  std::string obstacle_at(std::size_t node) {
    const StageRunner& stage = *stages_[node];
    const Description& about = stage.description();
    if (about.trains) return named(node) + " trains, and a shard has only a part of the data";
    if (!about.headlines.empty()) return named(node) + " computes a metric over all packets";
    const auto& inputs = flow_.nodes[node].inputs;
    for (const std::size_t input : inputs) {
      if (plan_.numbered_by[input] != plan_.numbered_by[inputs.front()]) {
        return "branches with different packet numbering join before " + named(node);
      }
    }
    switch (stage.kind()) {
      case StageKind::transform:
        return stage.on_compute_thread()
                   ? std::string()
                   : named(node) + " is a serial stage and has to process every packet of the flow";
      case StageKind::collector:
        return obstacle_at_collector(node);
      case StageKind::sink:
        return offered<WritesParts>(stage) != nullptr ? std::string()
                                                      : named(node) + " needs all packets";
      default:
        return {};
    }
  }

  std::string obstacle_at_collector(std::size_t node) {
    const auto* const batches = offered<ConsecutiveBatches>(*stages_[node]);
    const std::size_t source = plan_.numbered_by[flow_.nodes[node].inputs.front()];
    const std::uint64_t size = batches == nullptr ? 0 : batches->batch_size();
    if (size == 0 || stages_[source]->kind() != StageKind::source || grouped(node)) {
      return named(node) + " gathers packets that may be in different shards";
    }
    std::uint64_t& block = found_.blocks[source];
    if (block != 0 && block != size) return named(source) + " leads to batches of different sizes";
    block = size;
    return {};
  }

  [[nodiscard]] bool grouped(std::size_t node) const {
    const auto is_group = [](const FieldInfo& field) { return field.name == field::group.name; };
    return std::ranges::any_of(upstream_of(flow_, node), [&](std::size_t at) {
      return std::ranges::any_of(stages_[at]->description().provides, is_group);
    });
  }

  const FlowSpec& flow_;  // the caller owns these three
  const FlowPlan& plan_;
  const std::vector<StageRunner*>& stages_;
  Sharding found_;
};

}  // namespace

Sharding sharding_of(const FlowSpec& flow, const FlowPlan& plan,
                     const std::vector<StageRunner*>& stages) {
  return Splitter(flow, plan, stages).split();
}

Error cannot_split(const FlowSpec& flow, const Sharding& sharding) {
  return Error("flow '" + flow.name + "' cannot be split into shards: " + sharding.obstacle +
                   "; run it without --shard, or remove it from the schedule",
               Fault::configuration);
}

}  // namespace seam::host
