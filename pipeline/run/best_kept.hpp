/// The best epoch among those whose checkpoints are there, for a run that goes on: the rule may
/// have changed since, and a checkpoint may be gone.
///
///     metrics.jsonl ──► mean of the metric by epoch ──┐
///     checkpoints/epoch-3.safetensors, ... ───────────┴──► the best that can be kept
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "pipeline/config/pipeline_spec.hpp"
#include "pipeline/run/schedule.hpp"

namespace seam::host {

/// `before`: what the checkpoint says; it stands where it is by the same metric and its file is
/// there. Else the means in the first `size` bytes of `metrics` are looked through. None: the rule
/// has no metric, or no epoch that is there has measured it. Throws seam::Error (data) where the
/// file is not one that a run wrote.
std::optional<BestKept> best_kept(const KeepRule& rule, std::optional<BestKept> before,
                                  const std::filesystem::path& checkpoints,
                                  const std::filesystem::path& metrics, std::uint64_t size);

}  // namespace seam::host
