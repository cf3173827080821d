/// What became of a flow's packets: counts by stage, and whether they add up.
///
///     for each stage   received = delivered + dropped + failed
///     for each edge    what left one stage arrived at the next
///     for a collector  what it took in is its word from there on: what cannot be true is found
///
/// A collector may repeat packets, choose among them or put many into one. One that makes new
/// packets out of those it takes (Declaration::replaces_packets) must send on something after the
/// last, or drop it. Any other must send on or drop something, and no packet must be both.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/config/pipeline_spec.hpp"
#include "pipeline/graph/flow.hpp"
#include "pipeline/graph/segment.hpp"

namespace seam::host {

using Segments = std::vector<std::unique_ptr<Segment>>;

/// Counts by stage, in the order of the segments; when the flow is at rest. `seconds_a_tick`: of
/// the clock by which the segments measured. `backward`: of the flow's gradients.
[[nodiscard]] std::vector<StageCount> stage_counts(const Segments& segments, double seconds_a_tick,
                                                   const BackwardClock& backward);

/// What each stage is doing; while the flow runs. `beginning`: the stage inside its begin(), or
/// null.
[[nodiscard]] std::vector<StageActivity> stage_activity(const Segments& segments,
                                                        const StageRunner* beginning);

/// Whether the flow ran to its end, with all packets.
enum class Ended : std::uint8_t { whole, early };

/// What does not add up, a sentence each.
[[nodiscard]] std::vector<std::string> imbalances(const FlowSpec& flow, const Segments& segments,
                                                  const std::vector<StageCount>& counts,
                                                  Ended ended);

}  // namespace seam::host
