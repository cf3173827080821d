/// How a run ended, for the program that started it, for people and for other programs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/config/pipeline_spec.hpp"
#include "pipeline/graph/flow.hpp"
#include "pipeline/run/exit_code.hpp"
#include "pipeline/run/numerics.hpp"
#include "pipeline/run/schedule.hpp"
#include "pipeline/run/scores.hpp"
#include "seam/error.hpp"

namespace seam::host {

/// A flow over all times that it ran.
struct FlowTotal {
  std::string flow;
  std::uint64_t times = 0;
  double seconds = 0;
  double compute_idle_seconds = 0;
  std::uint64_t packets_peak = 0;
  std::uint64_t bytes_peak = 0;
  std::vector<StageCount> stages;  ///< in flow order; counts added up, the longest queue

  void add(const FlowResult& result);
};

struct RunSummary {
  ExitCode code = ExitCode::success;
  std::optional<Error> error;           ///< what ended the run
  std::vector<std::string> imbalances;  ///< what the ledger has against it
  std::filesystem::path run_directory;  ///< empty where the run did not get that far
  Numerics numerics;
  SchedulePosition position;
  std::uint64_t steps_done = 0;  ///< of the flow within which the run was stopped
  bool complete = false;         ///< nothing of the schedule is left
  std::uint64_t skipped_packets = 0;
  double seconds = 0;                     ///< of this process
  std::vector<FlowTotal> flows;           ///< of this process, in the order of their first run
  std::map<std::string, double> metrics;  ///< means over a flow's last run, by "stage.metric"
  std::vector<Score> scores;              ///< of the run so far, the most important first
  bool trains = false;                    ///< one of the schedule's flows does
};

/// "success", "cancelled", ...: the exit code in a word.
std::string outcome_text(ExitCode code);

/// Packets that a stage took in, or that a source made.
std::uint64_t packets_of(const StageCount& count);
/// Inside the stage, and of its gradients in the optimizer's calls.
double seconds_of(const StageCount& count);
/// The same, of its flow's time: above 1 where threads work side by side.
double share_of_wall(const StageCount& count, const FlowTotal& flow);

enum class Timing : std::uint8_t {
  brief,  ///< the stages that took the most time
  whole,  ///< all stages, with their packets and queues
};

/// The closing table: what stages did and how long it took them, what was lost, and the ledger's
/// result.
std::string to_table(const RunSummary& summary, Timing timing);
/// What a summary.json says of the flows; throws seam::Error (data) where it cannot be read.
std::vector<FlowTotal> read_flows(const std::filesystem::path& summary);
/// The content of summary.json.
std::string to_json(const RunSummary& summary, const PipelineSpec& pipeline);

}  // namespace seam::host
