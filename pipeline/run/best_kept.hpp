/// The best epoch among those whose checkpoints exist, for a run that continues: the rule may have
/// changed, and a checkpoint may have been removed.
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

/// Returns the best epoch by the means in the first `size` bytes of `metrics`. If there is none,
/// returns `before`, as recorded in the checkpoint, provided that it has the same metric and its
/// file exists. Returns nullopt if the rule has no metric, or if no existing epoch has measured it.
/// Throws seam::Error (data) if the file is not a valid metrics file.
std::optional<BestKept> best_kept(const KeepRule& rule, std::optional<BestKept> before,
                                  const std::filesystem::path& checkpoints,
                                  const std::filesystem::path& metrics, std::uint64_t size);

}  // namespace seam::host
