/// The final output of a run: score, folder and suggested next command.
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
#include <optional>
#include <string>
#include <vector>

#include "pipeline/config/pipeline_spec.hpp"
#include "pipeline/run/checkpoint.hpp"
#include "pipeline/run/scores.hpp"
#include "pipeline/run/summary.hpp"
#include "pipeline/text/terminal.hpp"

namespace seam::host {

/// Where a run stopped or continues: "in epoch 3 of 24, after step 500 of flow 'train'".
std::string place_text(const ScheduleSpec& schedule, const SchedulePosition& position,
                       const std::optional<FlowUnderWay>& within);

/// The score as a table that fits the screen; empty if there is none.
std::string score_table(const std::vector<Score>& scores, const ScheduleSpec& schedule,
                        const Screen& screen);

/// The run folder and the likely next command: --resume if something is left to do, embed.toml if
/// it can use the trained model. Empty without a run.
std::string next_text(const RunSummary& summary, const PipelineSpec& spec, const Screen& screen);

/// The text as one word of a shell: in quotes if necessary.
std::string shell_word(const std::string& text);

/// The path for a shell: relative if it is inside `here`, in quotes if necessary.
std::string shell_path(const std::filesystem::path& path, const std::filesystem::path& here);

}  // namespace seam::host
