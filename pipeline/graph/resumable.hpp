/// Whether a training flow can be left between two of its steps and gone on with by another
/// process, and what becomes of each stage then.
///
///     source ──► sampler ──► decode ──► augment ──► batch ──► model ──► loss ──► adam
///     └──── whole ─────┘     └──────── inputs ────────┘       └──────── none ───────┘
///       run again from       see the packets behind the       go on with their
///       the flow's start     point alone                      saved states
///
/// Sources and samplers are cheap and draw the same again from the same seed. What follows the last
/// of them handles each packet by itself, so that the packets before the point can be left out.
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

/// What a stage does again when its flow goes on from a point.
enum class Replay : std::uint8_t {
  whole,    ///< everything
  inputs,   ///< what comes behind the packets that the batches so far were made of
  batches,  ///< what comes behind the batches so far
  none,     ///< nothing: its state says what was
};

struct Resumable {
  std::string obstacle;        ///< why it cannot be left, a clause; empty where it can
  std::size_t numbering = 0;   ///< node: the last that numbers packets before the collector
  std::size_t collector = 0;   ///< node: makes the batches of the steps
  std::vector<Replay> replay;  ///< by node
};

/// `stages`: by node.
[[nodiscard]] Resumable resumable_of(const FlowSpec& flow, const FlowPlan& plan,
                                     const std::vector<StageRunner*>& stages,
                                     const std::map<std::string, StageSpec>& specs);

}  // namespace seam::host
