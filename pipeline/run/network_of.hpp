/// Describes a stage's network without a run: the stage is opened on the CPU, queried and closed.
///
///     referenced stages ──► opened ──► stage ──► opened, queried ──► all closed
#pragma once

#include <optional>
#include <string>

#include "pipeline/config/load.hpp"
#include "seam/network.hpp"

namespace seam::host {

/// Returns nullopt for a stage that does not describe a network. Warnings of stages go to standard
/// error. Throws what a stage throws if it cannot be opened, such as for a missing weights file.
std::optional<NetworkPart> network_of(CheckedPipeline& pipeline, const std::string& stage,
                                      int threads);

}  // namespace seam::host
