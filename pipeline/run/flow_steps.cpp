#include "pipeline/run/flow_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "pipeline/run/agreement.hpp"
#include "pipeline/run/clock.hpp"
#include "pipeline/run/watchdog.hpp"
#include "pipeline/text/count.hpp"
#include "pipeline/text/lists.hpp"

namespace seam::host {
namespace {

/// ": recall.none.r@1 0.66, recall.none.mrr@50 0.71".
std::string metrics_text(const std::vector<std::string>& names, const FlowMeans& means) {
  std::string text;
  for (const std::string& name : names) {
    text += fmt::format("{} {} {}", text.empty() ? ":" : ",", name,
                        number_for_people(means.at(name).value));
  }
  return text;
}

/// "recall.none.r@1 0.66", "none.mrr@50 0.71": after another metric of the same stage, the stage's
/// name is omitted.
std::vector<std::string> headline_texts(const std::vector<std::string>& names,
                                        const FlowMeans& means) {
  std::vector<std::string> texts;
  std::string stage;  // of the one before, and a full stop
  for (const std::string& name : names) {
    const bool same = !stage.empty() && name.starts_with(stage);
    texts.push_back(fmt::format("{} {}", same ? name.substr(stage.size()) : name,
                                number_for_people(means.at(name).value)));
    stage = name.substr(0, name.find('.') + 1);
  }
  return texts;
}

/// One line of at most `width` characters: the first of the beginnings (from long to short) that
/// leaves room for two headlines, and as many headlines as fit.
std::string fitting(const std::vector<std::string>& beginnings,
                    const std::vector<std::string>& headlines, const std::string& end,
                    std::size_t width) {
  std::string line;
  for (const std::string& beginning : beginnings) {
    line = beginning;
    std::size_t shown = 0;
    for (const std::string& headline : headlines) {
      const std::string more = (shown == 0 ? ": " : ", ") + headline;
      if (line.size() + more.size() + end.size() > width) break;
      line += more;
      ++shown;
    }
    if (shown >= std::min<std::size_t>(headlines.size(), 2)) break;
  }
  return line + end;
}

/// For a flow without headlines: the first few metrics that its stages recorded, without details
/// such as "r@1.optimistic" of "r@1". All are in metrics.jsonl.
std::vector<std::string> first_metrics(const FlowSpec& flow, const FlowMeans& means) {
  constexpr std::size_t most = 6;
  std::vector<std::string> names;
  for (const FlowNode& node : flow.nodes) {
    const std::string prefix = node.stage + ".";
    for (const auto& [name, mean] : means) {
      if (!name.starts_with(prefix) || names.size() == most) continue;
      if (means.contains(name.substr(0, name.rfind('.')))) continue;
      add_unless_present(names, name);
    }
  }
  return names;
}

/// Checks a `max_errors` that is a fraction.
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
    return Error(fmt::format("stage '{}' failed on {} of its {} packets, more than "
                             "max_errors = {} allows",
                             count.stage, count_text(count.failed), count_text(count.received),
                             seam::to_text(Value{*spec.max_error_share})),
                 defect ? Fault::internal : Fault::data);
  }
  return std::nullopt;
}

/// Returns whether an optimizer of the flow accepted a batch. One that failed on every batch, with
/// on_error = "skip", trained nothing.
bool took_a_step(const CheckedPipeline& pipeline, const FlowResult& result) {
  return std::ranges::any_of(result.stages, [&](const StageCount& count) {
    return count.delivered > 0 && pipeline.stages.at(count.stage)->description().trains;
  });
}

/// The error of a training flow without steps, in which the weights were not changed.
Error without_steps(const FlowResult& result) {
  std::string text = "the optimizer accepted no batch, so nothing was trained";
  for (const StageCount& count : result.stages) {
    for (const auto& [reason, number] : count.dropped) {
      text += fmt::format("\n'{}' dropped {}: {}", count.stage, packets_text(number), reason);
    }
    if (count.failed > 0) {
      text += fmt::format("\n'{}' failed on {}", count.stage, packets_text(count.failed));
    }
    const bool source = count.kind == StageKind::source;
    if (!source && count.received == 0) {
      text += fmt::format("\nnothing arrived at '{}'", count.stage);
      break;
    }
  }
  return Error(text, result.skipped > 0 ? Fault::data : Fault::configuration);
}

/// Returns the error of a flow that ended, if any. `skipped_before`: packets skipped by earlier
/// flows.
std::optional<Error> error_of(const PipelineSpec& spec, const FlowResult& result,
                              std::uint64_t skipped_before, const std::string& doing) {
  if (result.error) {
    Error error = *result.error;
    error.while_doing(doing);
    if (spec.max_errors && skipped_before > 0) {
      error.while_doing(
          fmt::format("allowing {} skipped packets per run, {} of which earlier flows used up",
                      *spec.max_errors, skipped_before));
    }
    return error;
  }
  if (!result.cancelled) {  // the fraction of a partial flow means nothing
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
  run.epochs = spec.schedule.epochs;
  run.compute_threads = options.threads;
  run.device = options.numerics.device;
  run.precision = options.numerics.precision;
  run.deterministic = options.numerics.deterministic;
  run.lanes = spec.lanes;
  run.lanes.ranks = options.ranks;
  run.run_directory = directory.path();
  return run;
}

FlowSteps::FlowSteps(const RunParts& parts, RunIdentity identity, Progress progress)
    : parts_(parts), checkpoints_(parts_, std::move(identity), std::move(progress)) {}

bool FlowSteps::stop_requested() const {
  Ranks* const ranks = parts_.options.ranks;
  return ranks == nullptr ? parts_.services.stop_requested() : agree_to_stop(*ranks);
}

bool FlowSteps::flow_trains(const std::string& flow) const {
  return trains(parts_.pipeline, flow_named(parts_.pipeline.spec, flow));
}

bool FlowSteps::wants_checkpoint_before(const std::string& flow) const {
  return parts_.options.ranks != nullptr && has_trained_ && !flow_trains(flow);
}

std::string FlowSteps::place_text(const std::string& flow, std::int64_t epoch) const {
  const ScheduleSpec& schedule = parts_.pipeline.spec.schedule;
  if (!in_epochs(schedule, flow)) return fmt::format("flow '{}'", flow);
  return fmt::format("flow '{}' in epoch {} of {}", flow, epoch + 1, schedule.epochs);
}

std::optional<double> FlowSteps::seconds_left() const {
  if (!last_epoch_seconds_) return std::nullopt;
  const auto epochs = static_cast<double>(parts_.pipeline.spec.schedule.epochs -
                                          parts_.summary.position.epochs_done - 1);
  return epochs * *last_epoch_seconds_ + std::max(*last_epoch_seconds_ - seconds_of_epoch(), 0.0);
}

double FlowSteps::seconds_of_epoch() const {
  return std::chrono::duration<double>(parts_.options.now() - epoch_began_).count();
}

FlowResult FlowSteps::run_on_engine(const FlowSpec& flow, std::int64_t epoch) {
  const PipelineSpec& spec = parts_.pipeline.spec;
  FlowProgress progress;
  FlowOptions options;
  options.run = run_state(spec, parts_.options, parts_.directory, parts_.services);
  options.run.epoch = epoch;
  options.run.trainings = checkpoints_.trainings();
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
  options.extent = parts_.options.extent;
  options.shard = parts_.options.shard;
  if (parts_.options.has_points()) options.keeper = &checkpoints_;
  if (checkpoints_.under_way()) options.from = checkpoints_.under_way()->point;

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
    const Watchdog watchdog(place_text(flow.name, epoch), progress, spec.limits,
                            [this](const std::string& text) { parts_.services.warn(text); });
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
  // An evaluation of one batch warns of images that the other batches have.
  const bool is_partial =
      parts_.options.extent == Extent::first_batch && !trains(parts_.pipeline, flow);
  parts_.services.flow_begins(
      moment_text(spec.schedule, parts_.summary.position, epoch), name,
      is_partial ? RunServices::Reports::filed : RunServices::Reports::shown);
  checkpoints_.flow_begins(flow);
  FlowRecord record = record_of(flow, epoch);
  const auto& under_way = checkpoints_.under_way();
  const bool went_on = under_way && under_way->point.steps > 0;  // from within the flow
  const FlowResult result = run_on_engine(flow, epoch);
  record.finished = finished_;
  checkpoints_.leave_out_partial_metrics();
  record.training_steps = static_cast<std::int64_t>(result.steps);
  const std::uint64_t skipped_before = parts_.summary.skipped_packets;
  const std::optional<Error> unrecorded = note_flow(record, result);
  note_result(flow, epoch, result);
  const std::string doing = "running " + place_text(name, epoch);

  const bool on_request =
      result.error && result.error->fault() == Fault::cancelled && parts_.services.stop_requested();
  auto error = on_request ? std::nullopt : error_of(spec, result, skipped_before, doing);
  if (unrecorded && error) {  // report both; the first one is the run's error
    parts_.services.message(
        LogLevel::error, fmt::format("the metrics and logs of flow '{}' are incomplete: {}", name,
                                     unrecorded->full_message()));
  } else if (unrecorded) {
    error = *unrecorded;
    error->while_doing("recording " + place_text(name, epoch));
  }
  if (error) throw Error(*error);
  if (on_request || result.cancelled) {
    checkpoints_.flow_stopped();
    return FlowEnd::stopped;
  }
  const bool trained = went_on || took_a_step(parts_.pipeline, result);
  if (!trained && trains(parts_.pipeline, flow)) {
    throw Error(without_steps(result).while_doing(doing));
  }
  checkpoints_.flow_ended(record.training_steps);
  has_trained_ = has_trained_ || trained;
  note_scores(name, epoch);
  finished_before_[name] = finished_;
  return FlowEnd::complete;
}

FlowRecord FlowSteps::record_of(const FlowSpec& flow, std::int64_t epoch) const {
  FlowRecord record;
  record.flow = flow.name;
  record.epoch = epoch;
  record.when = moment_text(parts_.pipeline.spec.schedule, parts_.summary.position, epoch);
  record.began = std::chrono::system_clock::now();
  record.steps_before = checkpoints_.training_steps();
  for (const FlowNode& node : flow.nodes) {
    record.stages.push_back(node.stage);
    if (parts_.stages.at(node.stage).kind() == StageKind::parallel_transform) {
      record.unordered.push_back(node.stage);
    }
  }
  return record;
}

std::optional<Error> FlowSteps::note_flow(const FlowRecord& record, const FlowResult& result) {
  RunSummary& summary = parts_.summary;
  auto total = std::ranges::find(summary.flows, record.flow, &FlowTotal::flow);
  if (total == summary.flows.end()) {
    summary.flows.emplace_back().flow = record.flow;
    total = std::prev(summary.flows.end());
  }
  total->add(result);
  summary.skipped_packets += result.skipped;
  summary.imbalances = result.imbalances;
  return parts_.recorder.flow_ended(record, result, parts_.services.metrics());
}

void FlowSteps::note_scores(const std::string& flow, std::int64_t epoch) {
  std::string when = moment_text(parts_.pipeline.spec.schedule, parts_.summary.position, epoch);
  if (when.starts_with("epoch")) when.clear();
  const FlowMeans& means = parts_.services.metrics().last_flow();
  if (!parts_.scores.flow_ended(flow, epoch, when, means)) return;
  write_whole_file(parts_.directory.score(), score_json(parts_.scores.list()));
}

void FlowSteps::note_result(const FlowSpec& flow, std::int64_t epoch, const FlowResult& result) {
  const std::string line = flow_line(flow, epoch, result);
  const FlowMeans& means = parts_.services.metrics().last_flow();
  const bool alone = !trains(parts_.pipeline);
  if (alone || trains(parts_.pipeline, flow) || result.cancelled ||
      !headlines_of(parts_.pipeline, flow, means).empty()) {
    parts_.services.note(line);
  } else {
    parts_.services.log_only(LogLevel::info, line);
  }
}

std::string FlowSteps::flow_line(const FlowSpec& flow, std::int64_t epoch,
                                 const FlowResult& result) const {
  const ScheduleSpec& schedule = parts_.pipeline.spec.schedule;
  const std::string moment = moment_text(schedule, parts_.summary.position, epoch);
  std::string name = flow.name;
  if (in_epochs(schedule, flow.name)) {
    name = (moment.starts_with("epoch") ? fmt::format("epoch {}/{}", epoch + 1, schedule.epochs)
                                        : moment) +
           "  " + name;
  }
  const std::string time = duration_text(result.seconds);
  const std::string packets = fmt::format("{}: {} in {}", name, packets_text(finished_), time);
  const std::string rate =
      result.seconds > 0 && finished_ > 0
          ? " (" + rate_text(static_cast<double>(finished_) / result.seconds) + ")"
          : std::string();
  const std::string end = result.cancelled ? " (stopped on request)" : "";
  const FlowMeans& means = parts_.services.metrics().last_flow();
  const std::vector<std::string> headlines =
      headline_texts(headlines_of(parts_.pipeline, flow, means), means);
  if (headlines.empty()) {
    return packets + rate + metrics_text(first_metrics(flow, means), means) + end;
  }
  return fitting({packets + rate, packets, name + " in " + time, name}, headlines, end,
                 parts_.display.note_width());
}

std::vector<std::string> FlowSteps::metric_names() const {
  return keys_in(parts_.services.metrics().means());
}

void FlowSteps::epoch_begins(std::int64_t /*epoch*/) {
  if (parts_.summary.position.flows_done == 0) parts_.services.metrics().epoch_begins();
  epoch_began_ = parts_.options.now();
}

void FlowSteps::epoch_ended(const SchedulePosition& position) {
  last_epoch_seconds_ = seconds_of_epoch();
  if (position.stopped_early) {
    parts_.services.note(fmt::format(
        "{} has not improved for {} measurements; the best value, {}, was measured "
        "after epoch {}",
        parts_.pipeline.spec.schedule.stop_early->metric, position.without_gain,
        position.best ? number_for_people(*position.best) : "none", position.best_epochs));
  }
}

}  // namespace seam::host
