/// Compares a training flow with its training step alone, to tell whether the input is the limit:
/// `seam run --headspace`.
///
///     whole    items ─► decode ─► batch ─► [keeps the first] ─► model ─► loss ─► adam
///     alone                               [emits it again]  ─► model ─► loss ─► adam
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/graph/flow.hpp"

namespace seam::host {

/// The stage that makes the batches of a training flow, and the nodes that receive them.
struct StepInput {
  std::size_t maker = 0;          ///< the last node before the step
  std::vector<std::size_t> step;  ///< the nodes from the first stage on the compute thread on
};
/// Throws seam::Error (configuration) if several stages feed the step.
[[nodiscard]] StepInput step_input(
    const FlowSpec& flow, const std::map<std::string, std::unique_ptr<StageRunner>>& stages);

/// Speeds in images per second, from the end of the first step on.
struct Headspace {
  std::string flow;
  std::string maker;              ///< the stage that makes the batches
  std::vector<std::string> step;  ///< the stages that receive them, in flow order
  std::int64_t images = 0;        ///< in a batch
  double whole = 0;               ///< of the flow
  double alone = 0;               ///< of its step, with the flow's first batch again and again
};

/// Runs a training flow for a limited time, and then its step alone. Other flows run as usual.
class HeadspaceFlows final : public FlowRunner {
 public:
  /// `flows` outlives this object. `time`: of each of the two measurements.
  HeadspaceFlows(FlowRunner& flows, std::chrono::milliseconds time) : flows_(flows), time_(time) {}

  void on_compute_thread(const std::function<void()>& work) override {
    flows_.on_compute_thread(work);
  }
  /// The result of the whole flow, or of the measurement that failed or was stopped. Throws
  /// seam::Error (configuration) if the flow makes fewer than two batches.
  FlowResult run(const FlowSpec& flow, std::map<std::string, std::unique_ptr<StageRunner>>& stages,
                 const FlowOptions& options) override;
  /// None until a training flow has been measured.
  [[nodiscard]] const std::optional<Headspace>& measured() const { return measured_; }

 private:
  FlowRunner& flows_;
  std::chrono::milliseconds time_;
  std::optional<Headspace> measured_;
};

/// The measurement as text, with its conclusion.
[[nodiscard]] std::string to_text(const Headspace& headspace);

}  // namespace seam::host
