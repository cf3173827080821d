/// What a run says last: its score, where it is, and what to type next.
///
///     score after epoch 24 of 24
///     metric             value  std. error  chance  before  pixels  best   epoch
///     recall.none.r@1    0.663  ± 0.021     0.004   0.121   0.266   0.671  20
///     triplet_loss.loss  3.213                                      3.213  24
///
///     run   runs/demo-20260301-093000-1
///     next  seam run --resume runs/demo-20260301-093000-1
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "pipeline/config/pipeline_spec.hpp"
#include "pipeline/run/scores.hpp"
#include "pipeline/run/summary.hpp"
#include "pipeline/text/terminal.hpp"

namespace seam::host {

/// The score as a table that fits the screen; empty where there is none.
std::string score_table(const std::vector<Score>& scores, const ScheduleSpec& schedule,
                        const Screen& screen);

/// Where the run is and the command that most people want then: --resume where something is left
/// to do, embed.toml where a model was trained whose stages it takes. Empty without a run.
std::string next_text(const RunSummary& summary, const PipelineSpec& spec, const Screen& screen);

/// As a shell reads it: relative where it lies in `here`, in quotes where it needs them.
std::string shell_path(const std::filesystem::path& path, const std::filesystem::path& here);

}  // namespace seam::host
