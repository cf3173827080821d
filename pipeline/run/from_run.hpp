/// A new run that starts from a checkpoint of another run, with changed parameters:
/// `seam run --from RUN`.
///
///     RUN/resolved.toml + --set ──► differences ──► graph? initial weights? ──► rejected by name
///     RUN/checkpoints/epoch-24 ───► schedule ─────► SchedulePosition of the new run
///                                                        │
///     new folder: line files up to the checkpoint, the checkpoint with its new pipeline
///
/// RUN is not changed: a run has the same pipeline from its first epoch to its last. The functions
/// that reject something throw seam::Error (configuration) and name the key.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/config/pipeline_spec.hpp"
#include "pipeline/run/checkpoint.hpp"
#include "pipeline/run/run_directory.hpp"
#include "pipeline/run/schedule.hpp"

namespace seam::host {

struct CheckedPipeline;

/// A key in which two pipelines differ.
struct Difference {
  std::string key;                    ///< "stage.adam.rate"
  std::optional<std::string> before;  ///< as TOML; none: it was not set
  std::optional<std::string> now;

  friend bool operator==(const Difference&, const Difference&) = default;
};

/// The keys in which two resolved pipelines differ, in alphabetical order.
[[nodiscard]] std::vector<Difference> differences_between(const std::string& before,
                                                          const std::string& now);
/// Those of the differences that are not in [chosen], which only records how the others came about.
[[nodiscard]] std::vector<Difference> set_by_users(std::vector<Difference> differences);
/// Those of the differences that can change the results of a run.
[[nodiscard]] std::vector<Difference> in_results(std::vector<Difference> differences,
                                                 const Roles& roles);
/// "schedule.epochs = 48 (was 24), stage.adam.rate = 0.0001 (was 0.001)"
[[nodiscard]] std::string to_text(const std::vector<Difference>& differences);

/// Rejects a resolved.toml that was changed, in a way that can change results, since the run wrote
/// the checkpoint. `before`: the pipeline in the checkpoint; `now`: that in resolved.toml.
void refuse_edited(const std::string& before, const std::string& now, const Roles& roles,
                   const std::string& checkpoint, const std::string& run);

/// Rejects changes of stages, `use`, references, flows, paths and scheduled flows. `run`: the value
/// to suggest for `weights`.
void refuse_other_graph(const PipelineSpec& before, const PipelineSpec& now,
                        const std::string& run);

/// Rejects changes of stages that take part in evaluations only: scores before and after them would
/// be compared. `run`: for the message.
void refuse_other_evaluation(const std::vector<Difference>& differences,
                             const std::function<bool(const std::string&)>& is_of_evaluation,
                             const std::string& run);

/// Rejects changes of keys that matter only at the start of a run, such as initial weights.
/// `checkpoint`: the file from which the new run starts.
void refuse_initial(const std::vector<Difference>& differences,
                    const std::function<bool(const std::string& key)>& is_initial,
                    const std::string& checkpoint);

/// The position at which the changed schedule continues.
[[nodiscard]] SchedulePosition continued(const std::vector<Difference>& differences,
                                         const ScheduleSpec& now, SchedulePosition position);

/// Rejects a run that would compute nothing; `position` is the result of continued().
void refuse_without_effect(const std::vector<Difference>& differences, const ScheduleSpec& now,
                           const SchedulePosition& position);

/// The checkpoint from which a new run starts.
struct Beginning {
  Checkpoint checkpoint;
  std::filesystem::path file;  ///< of the other run
  std::vector<Difference> differences;
};

/// Finds the newest checkpoint between two epochs in the run folder `run`, and adapts it to the new
/// pipeline. A checkpoint after flows of `after` that train is not used. Calls `warn` for each
/// damaged file, which is skipped.
[[nodiscard]] Beginning beginning_from(const std::filesystem::path& run, const PipelineSpec& before,
                                       const CheckedPipeline& pipeline,
                                       const std::function<void(const std::string&)>& warn);

/// Copies the checkpoint, the best one, and the line files up to the checkpoint to the new run
/// folder.
void lay_out(const Beginning& beginning, const RunDirectory& to);

}  // namespace seam::host
