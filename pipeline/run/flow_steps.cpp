#include "pipeline/run/flow_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "pipeline/run/checkpoint.hpp"
#include "pipeline/run/clock.hpp"
#include "pipeline/run/watchdog.hpp"
#include "pipeline/text/count.hpp"

namespace seam::host {
namespace {

/// A number as it stands in a line for people.
std::string metric_text(double value) {
  return fmt::format("{:.4g}", value);
}

double seconds_since(std::chrono::steady_clock::time_point from) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
}

/// ": recall.none.r@1 0.66, recall.none.mrr@50 0.71".
std::string metrics_text(const std::vector<std::string>& names, const FlowMeans& means) {
  std::string text;
  for (const std::string& name : names) {
    text +=
        fmt::format("{} {} {}", text.empty() ? ":" : ",", name, metric_text(means.at(name).value));
  }
  return text;
}

/// The metrics that fit behind a line of `used` characters: whole ones.
std::string fitting(const std::string& metrics, std::size_t width, std::size_t used) {
  if (used + metrics.size() <= width) return metrics;
  const std::size_t room = width > used ? width - used : 0;
  const std::size_t end = metrics.rfind(", ", room);
  return end == std::string::npos ? std::string() : metrics.substr(0, end);
}

/// For a flow without headlines: the first few of the numbers that its stages recorded, but for
/// details such as "r@1.optimistic" of "r@1". All are in metrics.jsonl.
std::vector<std::string> first_metrics(const FlowSpec& flow, const FlowMeans& means) {
  constexpr std::size_t most = 6;
  std::vector<std::string> names;
  for (const FlowNode& node : flow.nodes) {
    const std::string prefix = node.stage + ".";
    for (const auto& [name, mean] : means) {
      if (!name.starts_with(prefix) || names.size() == most) continue;
      if (means.contains(name.substr(0, name.rfind('.')))) continue;
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

/// Against a `max_errors` that is a share.
std::optional<Error> too_many_skipped(const PipelineSpec& spec, const FlowResult& result) {
  if (!spec.max_error_share) return std::nullopt;
  for (const StageCount& count : result.stages) {
    const auto failed = static_cast<double>(count.failed);
    const double allowed = *spec.max_error_share * static_cast<double>(count.received);
    constexpr double rounding = 1e-9;  // 29 of 100 are not more than 0.29 of them
    if (failed <= allowed * (1 + rounding)) continue;
    const bool defect = std::ranges::any_of(result.failures, [&](const Failure& failure) {
      return failure.stage == count.stage && failure.fault == Fault::internal;
    });
    return Error(fmt::format("stage '{}' failed on {} of its {} packets, a larger share than "
                             "max_errors = {} allows",
                             count.stage, count_text(count.failed), count_text(count.received),
                             seam::to_text(Value{*spec.max_error_share})),
                 defect ? Fault::internal : Fault::data);
  }
  return std::nullopt;
}

/// What a flow that ended is to blame for, if anything; `skipped_before`: packets that earlier
/// flows skipped.
std::optional<Error> error_of(const PipelineSpec& spec, const FlowResult& result,
                              std::uint64_t skipped_before, const std::string& doing) {
  if (result.error) {
    Error error = *result.error;
    error.while_doing(doing);
    if (spec.max_errors && skipped_before > 0) {
      error.while_doing(
          fmt::format("skipping at most {} packets in the whole run, {} of them before",
                      *spec.max_errors, skipped_before));
    }
    return error;
  }
  if (!result.cancelled) {  // half a flow says nothing about its share
    if (auto error = too_many_skipped(spec, result)) return error->while_doing(doing);
  }
  if (!result.imbalances.empty()) {
    std::string text = "the ledger does not balance: packets were lost";
    for (const std::string& sentence : result.imbalances) text += "\n" + sentence;
    return Error(text, Fault::internal).while_doing(doing);
  }
  return std::nullopt;
}

}  // namespace

RunState run_state(const PipelineSpec& spec, const RunOptions& options,
                   const RunDirectory& directory, RunServices& services) {
  RunState run;
  run.services = &services;
  run.seed = spec.seed;
  run.compute_threads = options.threads;
  run.device = options.numerics.device;
  run.precision = options.numerics.precision;
  run.deterministic = options.numerics.deterministic;
  run.run_directory = directory.path();
  return run;
}

FlowSteps::FlowSteps(const RunParts& parts, RunIdentity identity, std::int64_t trainings,
                     std::optional<FlowUnderWay> under_way)
    : parts_(parts),
      identity_(std::move(identity)),
      trainings_(trainings),
      under_way_(std::move(under_way)) {}

std::string FlowSteps::place_text(const std::string& flow, std::int64_t epoch) const {
  const ScheduleSpec& schedule = parts_.pipeline.spec.schedule;
  if (!in_epochs(schedule, flow)) return fmt::format("flow '{}'", flow);
  return fmt::format("flow '{}' in epoch {} of {}", flow, epoch + 1, schedule.epochs);
}

std::optional<double> FlowSteps::seconds_left() const {
  if (!last_epoch_seconds_) return std::nullopt;
  const auto epochs = static_cast<double>(parts_.pipeline.spec.schedule.epochs -
                                          parts_.summary.position.epochs_done - 1);
  return epochs * *last_epoch_seconds_ +
         std::max(*last_epoch_seconds_ - seconds_since(epoch_began_), 0.0);
}

FlowResult FlowSteps::run_on_engine(const FlowSpec& flow, std::int64_t epoch) {
  const PipelineSpec& spec = parts_.pipeline.spec;
  FlowProgress progress;
  FlowOptions options;
  options.run = run_state(spec, parts_.options, parts_.directory, parts_.services);
  options.run.epoch = epoch;
  options.run.trainings = trainings_;
  options.run.flow = flow.name;
  options.limits = spec.limits;
  for (const StageSpec& stage : spec.stages) options.stage_specs.emplace(stage.name, stage);
  if (spec.max_errors) {
    const auto skipped = static_cast<std::int64_t>(parts_.summary.skipped_packets);
    options.max_errors = std::max<std::int64_t>(*spec.max_errors - skipped, 0);
  }
  options.progress = &progress;
  options.stop = parts_.options.stop;
  options.calls = parts_.trace;
  options.keeper = this;
  if (under_way_) options.from = under_way_->point;

  FlowView view;
  view.flow = flow.name;
  view.epoch = epoch;
  view.epochs = in_epochs(spec.schedule, flow.name) ? spec.schedule.epochs : 0;
  if (const auto before = finished_before_.find(flow.name); before != finished_before_.end()) {
    view.expected = before->second;
  }
  view.run_seconds_left = seconds_left();
  view.run_directory = parts_.directory.path().string();
  view.progress = &progress;
  view.metrics = &parts_.services.metrics();
  parts_.display.flow_begins(std::move(view));
  FlowResult result;
  try {
    const Watchdog watchdog(
        place_text(flow.name, epoch), progress, spec.limits,
        [this](const std::string& text) { parts_.services.message(LogLevel::warning, text); });
    result = parts_.flows.run(flow, parts_.pipeline.stages, options);
  } catch (...) {
    parts_.display.flow_ends();  // the view points at this function's variables
    throw;
  }
  finished_ = progress.finished;
  parts_.display.flow_ends();
  return result;
}

ScheduleSteps::FlowEnd FlowSteps::run_flow(const std::string& name, std::int64_t epoch) {
  const PipelineSpec& spec = parts_.pipeline.spec;
  const FlowSpec& flow = flow_named(spec, name);
  parts_.services.flow_begins(moment_text(spec.schedule, parts_.summary.position, epoch), name);
  const auto began = std::chrono::system_clock::now();
  if (under_way_ && under_way_->flow != name) {
    throw Error(fmt::format("the checkpoint was written within flow '{}', but the schedule of "
                            "resolved.toml has flow '{}' there; put it back as it was",
                            under_way_->flow, name),
                Fault::configuration);
  }
  flow_ = name;
  start_ = frame(parts_.summary.position);
  start_states_.clear();
  const bool trains = parts_.stages.trains(flow);
  if (!trains) start_states_ = parts_.stages.changeable_by(flow, start_.position);
  kept_ = under_way_.has_value();
  step_due_ = false;
  obstacle_.clear();
  const FlowResult result = run_on_engine(flow, epoch);
  const std::uint64_t skipped_before = parts_.summary.skipped_packets;
  const std::optional<Error> unrecorded = note_flow(flow, epoch, result, began);
  parts_.services.note(flow_line(flow, epoch, result));
  const std::string doing = "running " + place_text(name, epoch);

  const bool on_request =
      result.error && result.error->fault() == Fault::cancelled && stop_requested();
  auto error = on_request ? std::nullopt : error_of(spec, result, skipped_before, doing);
  if (unrecorded && error) {  // what went wrong first decides, and nothing goes unsaid
    parts_.services.message(LogLevel::error, fmt::format("what '{}' recorded is not complete: {}",
                                                         name, unrecorded->full_message()));
  } else if (unrecorded) {
    error = *unrecorded;
    error->while_doing("recording " + place_text(name, epoch));
  }
  if (error) throw Error(*error);
  if (on_request || result.cancelled) {
    if (!trains) keep_start();
    if (trains && !kept_) tell_nothing_kept();
    return FlowEnd::stopped;
  }
  under_way_.reset();
  note_scores(name, epoch);
  finished_before_[name] = finished_;
  if (trains) ++trainings_;
  return FlowEnd::complete;
}

std::optional<Error> FlowSteps::note_flow(const FlowSpec& flow, std::int64_t epoch,
                                          const FlowResult& result,
                                          std::chrono::system_clock::time_point began) {
  RunSummary& summary = parts_.summary;
  auto total = std::ranges::find(summary.flows, flow.name, &FlowTotal::flow);
  if (total == summary.flows.end()) {
    summary.flows.emplace_back().flow = flow.name;
    total = std::prev(summary.flows.end());
  }
  total->add(result);
  summary.skipped_packets += result.skipped;
  summary.imbalances = result.imbalances;

  FlowRecord record;
  record.flow = flow.name;
  record.epoch = epoch;
  record.when = moment_text(parts_.pipeline.spec.schedule, summary.position, epoch);
  record.began = began;
  record.finished = finished_;
  for (const FlowNode& node : flow.nodes) {
    record.stages.push_back(node.stage);
    if (parts_.stages.at(node.stage).kind() == StageKind::parallel_transform) {
      record.unordered.push_back(node.stage);
    }
  }
  return parts_.recorder.flow_ended(record, result, parts_.services.metrics());
}

void FlowSteps::note_scores(const std::string& flow, std::int64_t epoch) {
  std::string when = moment_text(parts_.pipeline.spec.schedule, parts_.summary.position, epoch);
  if (when.starts_with("epoch")) when.clear();
  const FlowMeans& means = parts_.services.metrics().last_flow();
  if (!parts_.scores.flow_ended(flow, epoch, when, means)) return;
  write_whole_file(parts_.directory.score(), score_json(parts_.scores.list()));
}

std::string FlowSteps::flow_line(const FlowSpec& flow, std::int64_t epoch,
                                 const FlowResult& result) const {
  const ScheduleSpec& schedule = parts_.pipeline.spec.schedule;
  std::string line = in_epochs(schedule, flow.name)
                         ? fmt::format("epoch {}/{}  ", epoch + 1, schedule.epochs)
                         : std::string();
  line += fmt::format("{}: {} in {}", flow.name, packets_text(finished_),
                      duration_text(result.seconds));
  const std::string rate =
      result.seconds > 0 && finished_ > 0
          ? " (" + rate_text(static_cast<double>(finished_) / result.seconds) + ")"
          : std::string();
  const std::string end = result.cancelled ? " (stopped on request)" : "";
  const FlowMeans& means = parts_.services.metrics().last_flow();
  const std::vector<std::string> headlines = headlines_of(parts_.pipeline, flow, means);
  if (headlines.empty()) {
    return line + rate + metrics_text(first_metrics(flow, means), means) + end;
  }
  // On one line: the rate where there is room for it, and as many headlines as there is room for.
  const std::string metrics = metrics_text(headlines, means);
  const std::size_t width = parts_.display.note_width();
  if (line.size() + rate.size() + metrics.size() + end.size() <= width) line += rate;
  return line + fitting(metrics, width, line.size() + end.size()) + end;
}

std::vector<std::string> FlowSteps::metric_names() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : parts_.services.metrics().means()) names.push_back(name);
  return names;
}

void FlowSteps::epoch_begins(std::int64_t /*epoch*/) {
  if (parts_.summary.position.flows_done == 0) parts_.services.metrics().epoch_begins();
  epoch_began_ = Clock::now();
}

void FlowSteps::epoch_ended(const SchedulePosition& position) {
  last_epoch_seconds_ = seconds_since(epoch_began_);
  if (position.stopped_early) {
    parts_.services.note(
        fmt::format("{} has not improved for {} measurements; the best value, {}, was measured "
                    "after epoch {}",
                    parts_.pipeline.spec.schedule.stop_early->metric, position.without_gain,
                    position.best ? metric_text(*position.best) : "none", position.best_epochs));
  }
}

Checkpoint FlowSteps::frame(const SchedulePosition& position) const {
  Checkpoint checkpoint;
  checkpoint.position = position;
  const Recorder::Sizes sizes = parts_.recorder.sizes();
  checkpoint.metrics_size = sizes.metrics;
  checkpoint.timing_size = sizes.timing;
  checkpoint.skipped_size = sizes.skipped;
  checkpoint.skipped_packets = parts_.summary.skipped_packets;
  checkpoint.trainings = trainings_;
  checkpoint.means = parts_.services.metrics().means();
  if (position.flows_done > 0) checkpoint.epoch_means = parts_.services.metrics().of_this_epoch();
  checkpoint.pipeline_hash = identity_.pipeline_hash;
  checkpoint.plugins = identity_.plugins;
  checkpoint.numerics = identity_.numerics;
  return checkpoint;
}

void FlowSteps::checkpoint(const SchedulePosition& position) {
  Checkpoint checkpoint = frame(position);
  checkpoint.stages = parts_.stages.save(position);
  write(checkpoint);
}

void FlowSteps::write(const Checkpoint& checkpoint) {
  parts_.recorder.sync();
  try {
    CheckpointFolder(parts_.directory.checkpoints()).write(checkpoint);
  } catch (Error& error) {
    error.while_doing("writing checkpoint " + to_text(name_of(checkpoint)));
    throw;
  }
  last_checkpoint_ = Clock::now();
}

bool FlowSteps::keeps_within_flows() const {
  const CheckpointEvery& every = parts_.pipeline.spec.schedule.checkpoint_every;
  return every.steps || every.minutes;
}

bool FlowSteps::wants_point(std::uint64_t steps) {
  const CheckpointEvery& every = parts_.pipeline.spec.schedule.checkpoint_every;
  constexpr double seconds_a_minute = 60;
  step_due_ =
      step_due_ || (every.steps && steps % static_cast<std::uint64_t>(*every.steps) == 0) ||
      (every.minutes && seconds_since(last_checkpoint_) >= *every.minutes * seconds_a_minute);
  return step_due_;
}

std::string FlowSteps::keep(const FlowPoint& point, const PointStages& stages) {
  const Metrics& metrics = parts_.services.metrics();
  for (const auto& [stage, recorded] : metrics.recorded_by(stages.passed_over)) {
    return fmt::format("stage '{}' records metrics of packets that would not come again", stage);
  }
  if (parts_.pipeline.spec.max_error_share) {
    return "a `max_errors` that is a share is judged over a whole flow";
  }
  Checkpoint checkpoint = start_;
  if (point.steps > 0) {
    checkpoint.flow = FlowUnderWay{flow_, point, metrics.recorded_by(stages.in_step)};
  } else if (nothing_done()) {
    kept_ = true;
    return {};
  }
  checkpoint.stages = parts_.stages.save(start_.position, stages.in_step);
  write(checkpoint);
  under_way_ = std::move(checkpoint.flow);
  kept_ = true;
  step_due_ = false;
  return {};
}

void FlowSteps::going_on(const PointStages& stages) {
  parts_.services.metrics().put_back(stages.in_step, under_way_->recorded);
}

void FlowSteps::cannot_keep(const std::string& why) {
  const std::lock_guard lock(obstacle_mutex_);
  obstacle_ = why;
  if (!keeps_within_flows() || !told_.insert(flow_).second) return;
  parts_.services.message(LogLevel::warning,
                          fmt::format("flow '{}' has no checkpoints within it: {}", flow_, why));
}

void FlowSteps::tell_nothing_kept() {
  parts_.services.message(
      LogLevel::warning,
      fmt::format(
          "what flow '{}' has done since the last checkpoint is not kept: {}", flow_,
          obstacle_.empty() ? "it was stopped where its stages cannot be left" : obstacle_));
}

bool FlowSteps::nothing_done() const {
  const SchedulePosition& position = start_.position;
  const bool past_before = position.before_done && !parts_.pipeline.spec.schedule.before.empty();
  return !past_before && position.epochs_done == 0 && position.flows_done == 0;
}

void FlowSteps::keep_start() {
  if (nothing_done()) return;
  Checkpoint checkpoint = start_;
  checkpoint.stages = parts_.stages.save(start_.position);
  for (StageState& state : checkpoint.stages) {
    const auto before = std::ranges::find(start_states_, state.name, &StageState::name);
    if (before != start_states_.end()) state = *before;
  }
  write(checkpoint);
}

}  // namespace seam::host
