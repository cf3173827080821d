#include "pipeline/run/headspace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>

#include "pipeline/text/count.hpp"
#include "pipeline/text/lists.hpp"
#include "pipeline/text/nearest.hpp"
#include "pipeline/text/refuse.hpp"
#include "pipeline/text/table.hpp"
#include "seam/stage.hpp"

namespace seam::host {
namespace {

using Clock = std::chrono::steady_clock;
using Stages = std::map<std::string, std::unique_ptr<StageRunner>>;

const std::string input_name = "the repeated batch";  // no stage of a file has blanks

/// Keeps the first packet of a flow. The handles keep its tensors.
class KeepFirst final : public Transform {
 public:
  explicit KeepFirst(std::optional<Packet>& kept) : kept_(kept) {}
  void declare(Declaration& /*d*/) override {}
  void process(Packet& packet, Context& /*context*/) override {
    if (!kept_) kept_ = packet;
  }

 private:
  std::optional<Packet>& kept_;  // the caller's, which outlives the flow
};

/// Emits one packet until the flow is stopped.
class Repeat final : public Source {
 public:
  explicit Repeat(Packet packet) : packet_(std::move(packet)) {}
  void declare(Declaration& d) override {
    for (const Packet::Slot& slot : packet_.slots()) {
      FieldInfo field;
      field.name = slot.name;
      field.type = slot.type->name;
      d.description().provides.push_back(std::move(field));
    }
  }
  More produce(Emitter& emitter, Context& /*context*/) override {
    emitter.emit(packet_);
    return More::yes;
  }

 private:
  Packet packet_;
};

/// Times the steps of a flow, and stops it when its time is up or the run is to stop.
class Stopwatch final : public CallListener {
 public:
  /// `trainer`: the stage whose calls end the steps. `run`: may be null.
  Stopwatch(std::string trainer, std::chrono::milliseconds time, const StopState* run)
      : trainer_(std::move(trainer)), time_(time), run_(run), watch_([this](const auto& stop) {
          while (!stop.stop_requested()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
            if (is_run_stopped()) flow_.cancel = true;
            if (!is_run_stopped() && !is_time_up()) continue;
            flow_.soon = true;
            flow_.interrupt();
            return;
          }
        }) {}

  void called(const StageCall& call) override {
    if (call.stage != trainer_) return;
    const std::lock_guard lock(mutex_);
    ends_.push_back(call.to);
  }

  [[nodiscard]] StopState& flow() { return flow_; }
  [[nodiscard]] bool is_run_stopped() const {
    return run_ != nullptr && (run_->soon || run_->cancel);
  }
  /// `steps`: how many there were; the trainer's last call may be that of end(). 0 if there were
  /// fewer than two.
  [[nodiscard]] double steps_per_second(std::uint64_t steps) const {
    const std::lock_guard lock(mutex_);
    if (steps < 2 || steps > ends_.size()) return 0;
    const std::chrono::duration<double> seconds = ends_[steps - 1] - ends_.front();
    return static_cast<double>(steps - 1) / seconds.count();
  }

 private:
  static constexpr std::size_t least_steps = 5;

  [[nodiscard]] bool is_time_up() const {
    const std::lock_guard lock(mutex_);
    return ends_.size() >= least_steps && Clock::now() - ends_.front() >= time_;
  }

  std::string trainer_;
  std::chrono::milliseconds time_;
  const StopState* run_;
  StopState flow_;
  mutable std::mutex mutex_;
  std::vector<Clock::time_point> ends_;  // of the trainer's calls
  std::jthread watch_;                   // last: ends before the members it uses
};

std::int64_t rows_of(const Packet& packet) {
  for (const Packet::Slot& slot : packet.slots()) {
    if (slot.by_row && slot.type->rows != nullptr) return slot.type->rows(slot.value.get());
  }
  return 1;
}

/// The flow with a stage between `input.maker` and the step.
FlowSpec with_keeper(const FlowSpec& flow, const StepInput& input) {
  FlowSpec with = flow;
  with.nodes.clear();
  std::vector<std::size_t> moved(flow.nodes.size());
  std::size_t keeper = 0;
  for (std::size_t at = 0; at < flow.nodes.size(); ++at) {
    FlowNode node = flow.nodes[at];
    const bool in_step = contains(input.step, at);
    for (std::size_t& from : node.inputs) {
      from = in_step && from == input.maker ? keeper : moved[from];
    }
    moved[at] = with.nodes.size();
    with.nodes.push_back(std::move(node));
    if (at != input.maker) continue;
    keeper = with.nodes.size();
    with.nodes.push_back({input_name, {moved[at]}, {}});
  }
  return with;
}

/// The step after a source that repeats its input.
FlowSpec step_alone(const FlowSpec& flow, const StepInput& input) {
  FlowSpec alone = flow;
  alone.nodes = {{input_name, {}, {}}};
  std::vector<std::size_t> moved(flow.nodes.size(), 0);
  for (const std::size_t at : input.step) {
    FlowNode node = flow.nodes[at];
    for (std::size_t& from : node.inputs) from = moved[from];
    moved[at] = alone.nodes.size();
    alone.nodes.push_back(std::move(node));
  }
  return alone;
}

/// The last stage of the flow that trains.
const FlowNode* trainer_of(const FlowSpec& flow, const Stages& stages) {
  const FlowNode* trainer = nullptr;
  for (const FlowNode& node : flow.nodes) {
    if (stages.at(node.stage)->description().trains) trainer = &node;
  }
  return trainer;
}

std::uint64_t steps_of(const FlowResult& result, const std::string& trainer) {
  const auto count = std::ranges::find(result.stages, trainer, &StageCount::stage);
  return count == result.stages.end() ? 0 : count->received;
}

/// Adds a stage to those of a run, until the end of its life.
class Guest final {
 public:
  Guest(Stages& stages, std::unique_ptr<Stage> stage) : stages_(stages) {
    stages_.insert_or_assign(
        input_name, std::make_unique<StageRunner>(input_name, "seam.headspace", std::move(stage)));
  }
  ~Guest() { stages_.erase(input_name); }
  Guest& operator=(Guest&&) = delete;  // not copyable

 private:
  Stages& stages_;
};

}  // namespace

StepInput step_input(const FlowSpec& flow, const Stages& stages) {
  std::vector<bool> in_step(flow.nodes.size());
  std::vector<std::string> makers;
  StepInput input;
  for (std::size_t at = 0; at < flow.nodes.size(); ++at) {
    const FlowNode& node = flow.nodes[at];
    in_step[at] = stages.at(node.stage)->on_compute_thread() ||
                  std::ranges::any_of(node.inputs, [&](std::size_t from) { return in_step[from]; });
    if (!in_step[at]) continue;
    input.step.push_back(at);
    for (const std::size_t from : node.inputs) {
      const std::string& maker = flow.nodes[from].stage;
      if (in_step[from] || contains(makers, maker)) continue;
      makers.push_back(maker);
      input.maker = from;
    }
  }
  if (makers.size() == 1) return input;
  refuse(
      "the training step of flow '{}' receives packets from {}; --headspace can repeat the packets "
      "of one stage",
      flow.name, makers.empty() ? "no stage before it" : enumerated(makers));
}

FlowResult HeadspaceFlows::run(const FlowSpec& flow, Stages& stages, const FlowOptions& options) {
  const FlowNode* const trainer = trainer_of(flow, stages);
  if (trainer == nullptr) return flows_.run(flow, stages, options);
  const StepInput input = step_input(flow, stages);
  const auto timed = [&](const FlowSpec& spec, Stopwatch& stopwatch) {
    FlowOptions timed_options = options;
    timed_options.extent = Extent::whole;
    timed_options.calls = &stopwatch;
    timed_options.stop = &stopwatch.flow();
    FlowResult result = flows_.run(spec, stages, timed_options);
    result.cancelled = stopwatch.is_run_stopped();  // not because the time was up
    std::erase_if(result.stages, [](const StageCount& one) { return one.stage == input_name; });
    return result;
  };
  Headspace headspace;
  headspace.flow = flow.name;
  headspace.maker = flow.nodes[input.maker].stage;
  headspace.step = mapped(input.step, [&](std::size_t at) { return flow.nodes[at].stage; });

  std::optional<Packet> kept;
  FlowResult whole;
  {
    const Guest guest(stages, std::make_unique<KeepFirst>(kept));
    Stopwatch stopwatch(trainer->stage, time_, options.stop);
    whole = timed(with_keeper(flow, input), stopwatch);
    headspace.whole = stopwatch.steps_per_second(steps_of(whole, trainer->stage));
  }
  if (whole.error || whole.cancelled) return whole;
  if (headspace.whole <= 0) {
    refuse(
        "flow '{}' makes fewer than two batches, too few to measure its speed; use more images, or "
        "smaller batches",
        flow.name);
  }
  headspace.images = rows_of(*kept);
  {
    const Guest guest(stages, std::make_unique<Repeat>(*std::exchange(kept, std::nullopt)));
    Stopwatch stopwatch(trainer->stage, time_, options.stop);
    FlowResult alone = timed(step_alone(flow, input), stopwatch);
    if (alone.error || alone.cancelled) return alone;
    headspace.alone = stopwatch.steps_per_second(steps_of(alone, trainer->stage));
  }
  headspace.whole *= static_cast<double>(headspace.images);
  headspace.alone *= static_cast<double>(headspace.images);
  measured_ = std::move(headspace);
  return whole;
}

std::string to_text(const Headspace& headspace) {
  // Below this share of the step's speed, the input is the limit, and not the noise.
  constexpr double full_speed = 0.9;
  std::string step;
  for (const std::string& stage : headspace.step) step += (step.empty() ? "" : " -> ") + stage;
  const double share = headspace.whole / headspace.alone;
  const std::string conclusion =
      share >= full_speed
          ? "The step is the limit: faster input would hardly help."
          : fmt::format(
                "The input is the limit: if the stages up to '{}' were faster, the flow "
                "could be up to {:.1f} times as fast.",
                headspace.maker, 1 / share);
  return columns({{fmt::format("flow {}, batches of {} from {}", headspace.flow, headspace.images,
                               headspace.maker),
                   "images/s"},
                  {"the whole flow", number_for_people(headspace.whole)},
                  {step + " alone", number_for_people(headspace.alone)}},
                 {Align::left, Align::right}) +
         conclusion + "\n";
}

}  // namespace seam::host
