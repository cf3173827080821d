/// A new run that begins where another one stands, with other parameters: `seam run --from RUN`.
///
///     RUN/resolved.toml + --set ──► differences ──► graph? initial weights? ──► refused by name
///     RUN/checkpoints/epoch-24 ───► schedule ─────► SchedulePosition that goes on
///                                                        │
///     new folder: line files up to the checkpoint, the checkpoint with its new pipeline
///
/// RUN stays as it is: a run has one pipeline, from its first epoch to its last. All refusals are
/// seam::Error (configuration) and name the key.
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

/// A key in which two pipelines differ.
struct Difference {
  std::string key;                    ///< "stage.adam.rate"
  std::optional<std::string> before;  ///< as TOML writes it; none: it was not set
  std::optional<std::string> now;

  friend bool operator==(const Difference&, const Difference&) = default;
};

/// The keys in which two resolved pipelines differ, in alphabetical order.
[[nodiscard]] std::vector<Difference> differences_between(const std::string& before,
                                                          const std::string& now);
/// Of these, the ones that can change what a run computes.
[[nodiscard]] std::vector<Difference> in_results(std::vector<Difference> differences);
/// "schedule.epochs = 48 (was 24), stage.adam.rate = 0.0001 (was 0.001)"
[[nodiscard]] std::string to_text(const std::vector<Difference>& differences);

/// Refuses other stages, other `use`, other references, flows, paths and scheduled flows. `run`:
/// what a user would write as `weights`.
void refuse_other_graph(const PipelineSpec& before, const PipelineSpec& now,
                        const std::string& run);

/// Refuses keys that act only where a run begins, such as initial weights. `checkpoint`: the file
/// with which the new run begins.
void refuse_initial(const std::vector<Difference>& differences,
                    const std::function<bool(const std::string& key)>& is_initial,
                    const std::string& checkpoint);

/// Where the changed schedule goes on.
[[nodiscard]] SchedulePosition continued(const std::vector<Difference>& differences,
                                         const ScheduleSpec& now, SchedulePosition position);

/// Refuses a run in which nothing would be computed; `position` is that of continued().
void refuse_without_effect(const std::vector<Difference>& differences, const ScheduleSpec& now,
                           const SchedulePosition& position);

/// What a new run begins with.
struct Beginning {
  Checkpoint checkpoint;
  std::filesystem::path file;  ///< of the other run
  std::vector<Difference> differences;
};

/// What stages say of the new pipeline.
struct AboutPipeline {
  std::function<bool(const std::string& flow)> trains;
  std::function<bool(const std::string& key)> is_initial;
};

/// Looks up the newest checkpoint between two epochs of the run in the folder `run` and makes it
/// that of a run of the pipeline `now`. One behind flows of `after` that train is none of them.
/// `warn` is told of damaged files, which are passed over.
[[nodiscard]] Beginning beginning_from(const std::filesystem::path& run, const PipelineSpec& before,
                                       const PipelineSpec& now, const AboutPipeline& about,
                                       const std::function<void(const std::string&)>& warn);

/// Gives the new run's folder the checkpoints, the best one included, and the line files as far as
/// they belong to them.
void lay_out(const Beginning& beginning, const RunDirectory& to);

}  // namespace seam::host
