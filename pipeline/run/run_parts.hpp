/// What a run is made of, for those that carry out parts of it.
#pragma once

#include <string>

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

/// What a checkpoint says of the run that writes it.
struct RunIdentity {
  std::string pipeline_hash;
  std::string plugins;
  std::string numerics;
};

}  // namespace seam::host
