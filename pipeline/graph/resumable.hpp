/// Determines whether a training flow can be interrupted between two steps and resumed by another
/// process, and how each stage is then handled.
///
///     source ──► sampler ──► decode ──► augment ──► batch ──► model ──► loss ──► adam
///     └──── whole ─────┘     └──────── inputs ────────┘       └──────── none ───────┘
///       run again from       receive only the packets         continue with their
///       the flow's start     after the point                  saved states
///
/// Sources and samplers are cheap and make the same packets again from the same seed. The stages
/// after them process each packet independently, so that the packets before the point can be
/// skipped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pipeline/config/pipeline_spec.hpp"
#include "pipeline/graph/plan.hpp"
#include "seam/runner.hpp"

namespace seam::host {

/// The packets that a stage receives when its flow resumes from a point.
enum class Replay : std::uint8_t {
  whole,    ///< all
  inputs,   ///< those after the packets of the finished batches
  batches,  ///< those after the finished batches
  none,     ///< new ones only: its state is restored
};

struct Resumable {
  std::string obstacle;        ///< why it cannot be interrupted, as a clause; empty if it can
  std::size_t numbering = 0;   ///< the last node before the collector that numbers packets
  std::size_t collector = 0;   ///< the node that makes the batches of the steps
  std::vector<Replay> replay;  ///< by node
};

/// `stages`: by node.
[[nodiscard]] Resumable resumable_of(const FlowSpec& flow, const FlowPlan& plan,
                                     const std::vector<StageRunner*>& stages,
                                     const std::map<std::string, StageSpec>& specs);

}  // namespace seam::host
