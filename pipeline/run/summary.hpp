/// How a run ended: exit code, closing table and summary.json.
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
#include "pipeline/run/listings.hpp"
#include "pipeline/run/numerics.hpp"
#include "pipeline/run/schedule.hpp"
#include "pipeline/run/scores.hpp"
#include "seam/error.hpp"

namespace seam::host {

/// The totals of a flow over all its runs.
struct FlowTotal {
  std::string flow;
  std::uint64_t times = 0;
  double seconds = 0;
  double compute_idle_seconds = 0;
  std::uint64_t packets_peak = 0;
  std::uint64_t bytes_peak = 0;
  std::vector<StageCount> stages;  ///< in flow order; sums, and the longest queue

  void add(const FlowResult& result);
};

struct RunSummary {
  ExitCode code = ExitCode::success;
  std::optional<Error> error;           ///< what ended the run
  std::vector<std::string> imbalances;  ///< of the ledger; not empty: packets were lost
  std::filesystem::path run_directory;  ///< empty if the run did not get that far
  Numerics numerics;
  SchedulePosition position;
  std::uint64_t steps_done = 0;  ///< of the flow within which the run was stopped
  bool complete = false;         ///< the schedule is complete
  std::uint64_t skipped_packets = 0;
  double seconds = 0;                        ///< of this process
  std::vector<FlowTotal> flows;              ///< of this process, in the order of their first run
  std::map<std::string, double> metrics;     ///< means over a flow's last run, by "stage.metric"
  std::vector<Score> scores;                 ///< of the run so far, the most important first
  bool trains = false;                       ///< a flow of the schedule trains
  std::string shard;                         ///< "1/3"; empty: the whole run
  std::string inputs;                        ///< of a shard: the digest of its PartInputs
  Listings listings;                         ///< of its data sets
  std::map<std::string, std::string> files;  ///< of a complete shard: SHA-256 by name
  std::string traceparent;                   ///< the run's place in a trace; empty: none
};

/// "success", "cancelled", ...: the exit code in a word.
std::string outcome_text(ExitCode code);

/// Packets that failed or were dropped: nothing after them saw them.
std::uint64_t lost_packets(const FlowTotal& flow);
/// Packets that a stage received, or that a source made.
std::uint64_t packets_of(const StageCount& count);
/// Time inside the stage and for its gradients in the optimizer's calls.
double seconds_of(const StageCount& count);
/// The same as a fraction of its flow's time: above 1 if several threads work in parallel.
double share_of_wall(const StageCount& count, const FlowTotal& flow);

enum class Timing : std::uint8_t {
  brief,  ///< the stages that took the most time
  whole,  ///< all stages, with their packets and queues
};

/// The closing table: packets, times and memory of stages, dropped and failed packets, and the
/// ledger's result.
std::string to_table(const RunSummary& summary, Timing timing);
/// Reads the flows in a summary.json; throws seam::Error (data) if it cannot be read.
std::vector<FlowTotal> read_flows(const std::filesystem::path& summary);
/// Reads the lists in a summary.json; throws like read_flows().
Listings read_listings(const std::filesystem::path& summary);
/// The content of summary.json.
std::string to_json(const RunSummary& summary, const PipelineSpec& pipeline);

}  // namespace seam::host
