/// The fate of a flow's packets: counts by stage, and whether they add up.
///
///     for each stage   received = delivered + dropped + failed
///     for each edge    packets that left one stage arrived at the next
///     for a collector  it must report what happens to the packets it received: only impossible
///                      counts are detected
///
/// A collector may repeat packets, select some of them or combine many into one. A collector that
/// makes new packets (Declaration::replaces_packets) must emit or drop something after the last
/// packet it received. Any other collector must emit or drop something, and must not drop a packet
/// that it also emitted.
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

/// Counts by stage, in the order of the segments; only when the flow is at rest. `seconds_a_tick`:
/// of the segments' clock. `backward`: the times of the flow's gradients.
[[nodiscard]] std::vector<StageCount> stage_counts(const Segments& segments, double seconds_a_tick,
                                                   const BackwardClock& backward);

/// The current activity of each stage, while the flow runs. `beginning`: the stage that is in its
/// begin(), or null.
[[nodiscard]] std::vector<StageActivity> stage_activity(const Segments& segments,
                                                        const StageRunner* beginning);

/// Whether the flow ran to its end, with all packets.
enum class Ended : std::uint8_t { whole, early };

/// The counts that do not add up, one sentence each.
[[nodiscard]] std::vector<std::string> imbalances(const FlowSpec& flow, const Segments& segments,
                                                  const std::vector<StageCount>& counts,
                                                  Ended ended);

}  // namespace seam::host
