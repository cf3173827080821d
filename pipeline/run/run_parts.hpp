/// The parts of a run, for the classes that execute it.
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

/// The parts of a run that its flows need; the run owns them, and they outlive the steps.
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
  RunSummary& summary;  ///< receives flows, skipped packets and the ledger's sentences
  Trace* trace;         ///< null: none
};

/// The training progress of earlier processes of the run.
struct Progress {
  std::int64_t trainings = 0;             ///< training flows that have ended
  std::int64_t training_steps = 0;        ///< of these flows
  std::optional<FlowUnderWay> under_way;  ///< the interrupted flow that the run resumes
};

/// Properties of the run that its checkpoints record.
struct RunIdentity {
  std::string pipeline;  ///< its resolved text
  std::string plugins;
  std::string numerics;
  std::optional<Choice> best_by;  ///< this and the next: as in Checkpoint
  std::vector<ChosenWeights> chosen;
};

}  // namespace seam::host
