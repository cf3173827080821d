/// What a run is made of, for those that carry out parts of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pipeline/run/checkpoint.hpp"
#include "pipeline/run/recorder.hpp"
#include "pipeline/run/run.hpp"
#include "pipeline/run/run_stages.hpp"
#include "pipeline/run/scores.hpp"
#include "pipeline/run/services.hpp"
#include "pipeline/run/trace.hpp"

namespace seam::host {

/// The parts of a run that its flows need; all are the run's and outlive the steps.
struct RunParts {
  CheckedPipeline& pipeline;
  const RunOptions& options;
  Display& display;
  FlowRunner& flows;
  const RunDirectory& directory;
  RunServices& services;
  RunStages& stages;
  Recorder& recorder;
  Scores& scores;
  RunSummary& summary;  ///< flows, skipped packets and the ledger's sentences are added to it
  Trace* trace;         ///< null: none
};

/// How far earlier processes of the run have come in training.
struct Progress {
  std::int64_t trainings = 0;             ///< flows that trained and ended
  std::int64_t training_steps = 0;        ///< theirs
  std::optional<FlowUnderWay> under_way;  ///< the flow that the run goes on within
};

/// What a checkpoint says of the run that writes it.
struct RunIdentity {
  std::string pipeline;  ///< its resolved text
  std::string plugins;
  std::string numerics;
  std::optional<Choice> best_by;  ///< as in Checkpoint; so is what follows
  std::vector<ChosenWeights> chosen;
};

}  // namespace seam::host
