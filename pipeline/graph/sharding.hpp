/// Determines whether a flow can be split into shards (shard.hpp), and which of its packets have to
/// be in the same one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pipeline/config/pipeline_spec.hpp"
#include "pipeline/graph/plan.hpp"
#include "seam/runner.hpp"

namespace seam::host {

struct Sharding {
  std::string obstacle;               ///< why the flow cannot be split, as a clause; may be empty
  std::vector<std::uint64_t> blocks;  ///< by node: of sources, packets that stay together
};

/// `stages`: by node.
[[nodiscard]] Sharding sharding_of(const FlowSpec& flow, const FlowPlan& plan,
                                   const std::vector<StageRunner*>& stages);

/// The error (configuration) of a flow with an obstacle.
[[nodiscard]] Error cannot_split(const FlowSpec& flow, const Sharding& sharding);

}  // namespace seam::host
