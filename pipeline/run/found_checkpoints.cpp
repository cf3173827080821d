#include "pipeline/run/found_checkpoints.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "pipeline/run/agreement.hpp"
#include "pipeline/run/checksum.hpp"
#include "pipeline/run/recorder.hpp"
#include "pipeline/text/count.hpp"
#include "pipeline/text/refuse.hpp"
#include "sdk/src/weights_metadata.hpp"

namespace seam::host {

CheckpointFolder::Newest newest_checkpoint(const RunDirectory& directory, const Launch& recorded,
                                           const PipelineSpec& spec, const RunOptions& options,
                                           RunServices& services) {
  CheckpointFolder::Newest newest = CheckpointFolder(directory.checkpoints()).newest();
  // Before it, no rank renames files: the others may still read them.
  if (options.ranks != nullptr) {
    agree_on({{"the newest checkpoint", newest.file.filename().string()},
              {"SHA-256 of the newest checkpoint", sha256_of_file(newest.file)}},
             *options.ranks);
  }
  for (const CheckpointFolder::DamagedFile& damaged : newest.damaged) {
    const auto aside = CheckpointFolder::set_aside(damaged.file);
    services.warn(fmt::format("{}; it was renamed to '{}', and the previous checkpoint is used",
                              damaged.how, aside.filename().string()));
  }
  if (newest.checkpoint) return newest;
  if (!recorded.from.run.empty() && recorded.evaluates.run.empty()) {
    refuse(
        "'{}' was started from {}, but no longer has a checkpoint; start another run with --from",
        directory.path().string(), to_text(recorded.from));
  }
  // The results of a run that was killed before its first checkpoint was due are repeated.
  const EndedRun ended = ended_run(directory.summary());
  const std::int64_t epochs = std::max(ended.epochs_done, epochs_timed(directory.timing()));
  if (!options.shard && (ended.complete || epochs >= spec.schedule.checkpoint_every.epochs)) {
    refuse("'{}' has results of {}, but no checkpoint: restore its checkpoints, or start a new run",
           directory.path().string(), counted(static_cast<std::uint64_t>(epochs), "epoch"));
  }
  services.note("the run has no checkpoint yet; starting from the beginning");
  return newest;
}

void warn_of_missing_best(const KeepRule& rule, const SchedulePosition& position,
                          const RunDirectory& directory, RunServices& services) {
  if (!position.best_kept || position.best_kept->metric != rule.best) return;
  const std::string file = to_text(CheckpointName{position.best_kept->epochs});
  if (std::filesystem::exists(directory.checkpoints() / file)) return;
  services.warn(fmt::format(
      "the best checkpoint so far, '{}', is missing; the best of the remaining ones and of the "
      "next epochs is kept",
      file));
}

}  // namespace seam::host
