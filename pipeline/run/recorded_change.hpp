/// Parameters that were changed when a run was resumed, as the head of its resolved.toml keeps
/// them: the file has the newest values, and its head what they were before and until when.
///
///     #: [[change]]
///     #: epochs_done = 24
///     #: time = "2026-03-01T09:30:00Z"
///     #: pipelines = ["5feceb66..."]
///     #: [[change.parameter]]
///     #: key = "stage.adam.rate"
///     #: before = "0.001"
///     #: now = "0.0001"
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/config/parameters.hpp"
#include "pipeline/run/checkpoint_name.hpp"

namespace seam::host {

struct ParameterChange {
  std::string key;                    ///< "stage.adam.rate"
  std::optional<std::string> before;  ///< as TOML writes it; none: it was not set
  std::optional<std::string> now;

  friend bool operator==(const ParameterChange&, const ParameterChange&) = default;
};

struct RecordedChange {
  CheckpointName at;  ///< the point of the run from which on it holds
  std::string time;   ///< UTC
  /// SHA-256 of the resolved pipelines that it replaced: by them a checkpoint is known that was
  /// written before it.
  std::vector<std::string> pipelines;
  std::vector<ParameterChange> parameters;

  friend bool operator==(const RecordedChange&, const RecordedChange&) = default;
};

/// Whether a checkpoint at `at` was written before a change that is recorded there or later, so
/// that its pipeline is known to be another than the newest.
[[nodiscard]] bool is_known(const std::vector<RecordedChange>& recorded, const CheckpointName& at,
                            const std::string& pipeline);

/// The record of a run that goes on from `now.at`: what was recorded from there on becomes one with
/// `now`, since the run is repeated from there with the newest values.
[[nodiscard]] std::vector<RecordedChange> with_change(std::vector<RecordedChange> recorded,
                                                      RecordedChange now);

/// "stage.adam.rate = 0.0001 (was 0.001)"
[[nodiscard]] std::string to_text(const ParameterChange& change);
/// "epoch 25", "epoch 4, step 500": from when on a change holds; epochs count from 1.
[[nodiscard]] std::string place_text(const CheckpointName& at);

/// "from epoch 25 on: schedule.epochs = 48 (was 24), stage.adam.rate = 0.0001 (was 0.001)"
[[nodiscard]] std::string to_text(const RecordedChange& change);

/// For each key that was changed, its values in their order: "0.001, then 0.0001 from epoch 25".
[[nodiscard]] Parameters values_over_run(const std::vector<RecordedChange>& recorded);

}  // namespace seam::host
