/// A parsed pipeline file: everything that the graph and the schedule need, with source places.
/// host_tables.cpp declares the keys of these members.
///
///     a.toml (+ extends, --set, ${VAR}) ──► PipelineSpec ──► checked ──► run
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pipeline/config/roles.hpp"

#include "seam/context.hpp"
#include "seam/declaration.hpp"

namespace seam::host {

/// Location of a key or value, for messages with a caret line.
struct Place {
  std::string file;          ///< path as the user gave it, or "--set"
  std::uint32_t line = 0;    ///< from 1; 0: the file as a whole
  std::uint32_t column = 0;  ///< from 1, in characters
  std::uint32_t length = 1;  ///< how many characters the caret line marks
};

/// What to do with a packet if its stage fails.
enum class OnError : std::uint8_t { fail, skip, retry };

struct StageSpec {
  std::string name;
  std::string use;
  std::string like;  ///< stage from which unset keys are taken (`like`); empty: none
  Place place;
  std::map<std::string, Value> values;  ///< parameters the file sets, checked
  std::set<std::string> from_fields;    ///< those of `values` that are sizes of arriving fields
  std::map<std::string, std::string> references;  ///< reference parameter -> stage name
  OnError on_error = OnError::fail;
  int retries = 0;                 ///< for OnError::retry
  std::optional<int> concurrency;  ///< upper bound for a parallel stage
};

/// One use of a stage in a flow; `inputs` are positions in FlowSpec::nodes.
struct FlowNode {
  std::string stage;
  std::vector<std::size_t> inputs;
  Place place;
  std::vector<std::string> paths =
      {};  ///< paths that contain it, outermost first; none: the flow itself
};

/// A named part of flows: [path].
struct PathSpec {
  std::string name;
  std::string text;
};

/// A flow in topological order. Branches share an input, joins have several.
struct FlowSpec {
  std::string name;
  std::string text;
  std::vector<FlowNode> nodes;
  Place place;
};

/// All nodes that lead to `node`, in flow order.
inline std::vector<std::size_t> upstream_of(const FlowSpec& flow, std::size_t node) {
  std::vector<bool> leads_there(flow.nodes.size());
  leads_there[node] = true;
  for (std::size_t at = node + 1; at-- > 0;) {  // inputs come before their outputs
    if (!leads_there[at]) continue;
    for (const std::size_t input : flow.nodes[at].inputs) leads_there[input] = true;
  }
  std::vector<std::size_t> upstream;
  for (std::size_t at = 0; at < node; ++at) {
    if (leads_there[at]) upstream.push_back(at);
  }
  return upstream;
}

/// A flow's turn in an epoch: every `every`-th epoch (epochs `every`-1, 2*`every`-1, ...) and in
/// the last one.
struct ScheduledFlow {
  std::string flow;
  std::int64_t every = 1;

  friend bool operator==(const ScheduledFlow&, const ScheduledFlow&) = default;
};

enum class Goal : std::uint8_t { highest, lowest };

struct StopEarly {
  std::string metric;  ///< "stage.metric"
  std::int64_t patience = 1;
  Goal goal = Goal::highest;

  friend bool operator==(const StopEarly&, const StopEarly&) = default;
};

/// How often a checkpoint is written: whenever one of these is due.
struct CheckpointEvery {
  std::int64_t epochs = 1;
  std::optional<std::int64_t> steps;  ///< of a training flow
  std::optional<double> minutes;      ///< between two steps

  friend bool operator==(const CheckpointEvery&, const CheckpointEvery&) = default;
};

/// Which checkpoints of whole epochs are kept.
struct KeepRule {
  std::string best;       ///< "stage.metric"; empty: what `stop_early` watches, if anything
  std::int64_t last = 2;  ///< the newest
  Better better = Better::higher;  ///< of `best`; as its stage declares it

  friend bool operator==(const KeepRule&, const KeepRule&) = default;
};

struct ScheduleSpec {
  std::int64_t epochs = 1;
  std::vector<std::string> before;  ///< once, before the first epoch
  std::vector<ScheduledFlow> each_epoch;
  std::vector<std::string> after;   ///< once, after the last epoch
  std::vector<std::string> floors;  ///< stages whose values are shown next to those of others
  std::optional<StopEarly> stop_early;
  CheckpointEvery checkpoint_every;
  KeepRule keep;

  friend bool operator==(const ScheduleSpec&, const ScheduleSpec&) = default;
};

/// The names of all scheduled flows; a flow that is scheduled twice is listed twice.
inline std::vector<std::string> scheduled_flows(const ScheduleSpec& schedule) {
  std::vector<std::string> flows = schedule.before;
  for (const ScheduledFlow& flow : schedule.each_epoch) flows.push_back(flow.flow);
  flows.insert(flows.end(), schedule.after.begin(), schedule.after.end());
  return flows;
}

/// Limits on the packets in flight in a flow.
struct LimitSpec {
  std::int64_t packets = 256;
  std::int64_t bytes = std::int64_t{256} << 20;
  std::int64_t stall_seconds = 60;  ///< without progress, then a warning; 0: never

  friend bool operator==(const LimitSpec&, const LimitSpec&) = default;
};

/// TensorBoard output in addition to metrics and images.
struct TensorBoardSpec {
  /// Histograms of the tensors whose "stage.tensor" matches one of these patterns ('*', '?').
  std::vector<std::string> histograms;

  friend bool operator==(const TensorBoardSpec&, const TensorBoardSpec&) = default;
};

/// The chosen variants of a pipeline file, for listing and comparing runs. A run ignores them.
struct ChosenSpec {
  std::vector<std::string> variants;  ///< "GROUP=NAME", or "NAME" of a variant in no group
  std::vector<std::string> decides;   ///< keys and stages that the variants set
  std::vector<std::string> set;       ///< keys of --set

  [[nodiscard]] bool empty() const { return variants.empty() && decides.empty() && set.empty(); }
};

struct PipelineSpec {
  std::string file;
  std::string name;
  std::uint64_t seed = 0;
  std::optional<int> threads;  ///< the budget; none: the machine's cores
  std::string device = "cpu";  ///< is_device() says what it may be
  Precision precision = Precision::float32;
  Lanes lanes;
  bool deterministic = true;
  std::optional<std::int64_t> max_errors;      ///< skipped packets that a run may have
  std::optional<double> max_error_share;       ///< the same, as a fraction of a stage's packets
  std::vector<std::string> plugin_paths;       ///< files or folders the file names
  std::optional<TensorBoardSpec> tensorboard;  ///< none: no event file is written
  std::string twin;                            ///< another pipeline file; empty: none
  std::vector<std::string> differs_in;         ///< keys in which the twin may differ
  LimitSpec limits;
  std::vector<StageSpec> stages;  ///< in the file's order
  std::vector<PathSpec> paths;
  std::vector<FlowSpec> flows;
  ScheduleSpec schedule;
  ChosenSpec chosen;
  Roles roles;  ///< of the keys in `resolved`
  std::string
      resolved;  ///< the whole description as one TOML text without extends, variables, --set
};

/// The flows that run, each once.
inline std::vector<const FlowSpec*> flows_that_run(const PipelineSpec& spec) {
  const std::vector<std::string> scheduled = scheduled_flows(spec.schedule);
  std::vector<const FlowSpec*> flows;
  for (const FlowSpec& flow : spec.flows) {
    if (std::ranges::find(scheduled, flow.name) != scheduled.end()) flows.push_back(&flow);
  }
  return flows;
}

}  // namespace seam::host
