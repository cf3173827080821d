/// Plans on which threads the stages of a flow run, before it starts.
///
///     FlowSpec ──► in a training step? ──► workplace ──► segments
///
/// In a flow that trains, everything from its first stages on the compute thread to its ends, plain
/// stages among them, belongs to the step (step.hpp) and runs on the compute thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "pipeline/config/pipeline_spec.hpp"
#include "seam/runner.hpp"

namespace seam::host {

/// The threads on which a stage is called.
enum class Workplace : std::uint8_t { serial_worker, parallel_workers, compute_thread };

struct SegmentPlan {
  std::vector<std::size_t> nodes;  ///< of the flow
  Workplace place = Workplace::serial_worker;
};

struct FlowPlan {
  std::vector<SegmentPlan> segments;     ///< in flow order
  std::vector<std::size_t> segment_of;   ///< by node
  std::vector<bool> in_step;             ///< by node
  std::vector<std::size_t> numbered_by;  ///< by node: the node that numbers its output packets
};

/// The stages of the flow's nodes.
[[nodiscard]] std::vector<StageRunner*> runners_of(
    const FlowSpec& flow, const std::map<std::string, std::unique_ptr<StageRunner>>& stages);

/// `stages`: by node.
[[nodiscard]] FlowPlan plan_of(const FlowSpec& flow, const std::vector<StageRunner*>& stages,
                               const std::map<std::string, StageSpec>& specs);

/// The nodes that make a flow's batches: the last source or collector on each path before its first
/// stage on the compute thread.
[[nodiscard]] std::vector<std::size_t> batch_makers_of(const FlowSpec& flow,
                                                       const std::vector<StageRunner*>& stages);

/// The nodes that number the batches which enter the flow's training step. If there are several,
/// the order of their batches depends on timing.
[[nodiscard]] std::set<std::size_t> numberings_of_step(const FlowSpec& flow, const FlowPlan& plan);

/// Returns whether the networks of a flow that does not train process its batches in an order that
/// does not depend on timing: all of them in one segment.
[[nodiscard]] bool networks_have_an_order(const FlowPlan& plan,
                                          const std::vector<StageRunner*>& stages);

/// Returns whether an optimizer is among the stages.
[[nodiscard]] bool trains(const std::vector<StageRunner*>& stages);

}  // namespace seam::host
