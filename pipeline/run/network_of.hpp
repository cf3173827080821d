/// What network a stage holds, without a run: the stage is opened on the CPU, asked and closed.
///
///     what it refers to ──► opened ──► stage ──► opened, asked ──► all closed
#pragma once

#include <optional>
#include <string>

#include "pipeline/config/load.hpp"
#include "seam/network.hpp"

namespace seam::host {

/// None for a stage that tells of no network. What stages warn of goes to the standard error.
/// Throws what a stage throws that cannot be opened, such as for a missing file of weights.
std::optional<NetworkPart> network_of(CheckedPipeline& pipeline, const std::string& stage,
                                      int threads);

}  // namespace seam::host
