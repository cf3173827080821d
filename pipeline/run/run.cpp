#include "pipeline/run/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "pipeline/run/checkpoint.hpp"
#include "pipeline/run/checksum.hpp"
#include "pipeline/run/clock.hpp"
#include "pipeline/run/json.hpp"
#include "pipeline/run/schedule.hpp"
#include "pipeline/run/services.hpp"
#include "pipeline/run/trace.hpp"
#include "pipeline/run/watchdog.hpp"

namespace seam::host {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point from) {
  return std::chrono::duration<double>(Clock::now() - from).count();
}

/// FlowEngine as a FlowRunner.
class EngineFlows final : public FlowRunner {
 public:
  explicit EngineFlows(int threads) : engine_(threads) {}

  void on_compute_thread(const std::function<void()>& work) override {
    engine_.on_compute_thread(work);
  }
  FlowResult run(const FlowSpec& flow, std::map<std::string, std::unique_ptr<StageRunner>>& stages,
                 const FlowOptions& options) override {
    return engine_.run(flow, stages, options);
  }

 private:
  FlowEngine engine_;
};

const FlowSpec& flow_named(const PipelineSpec& spec, const std::string& name) {
  const auto found = std::ranges::find(spec.flows, name, &FlowSpec::name);
  if (found == spec.flows.end()) {
    throw Error("the schedule names a flow '" + name + "' that the pipeline does not have",
                Fault::configuration);
  }
  return *found;
}

std::vector<std::string> scheduled_flows(const PipelineSpec& spec) {
  std::vector<std::string> flows = spec.schedule.before;
  for (const ScheduledFlow& flow : spec.schedule.each_epoch) flows.push_back(flow.flow);
  flows.insert(flows.end(), spec.schedule.after.begin(), spec.schedule.after.end());
  return flows;
}

/// The stages that the schedule's flows use and those that they refer to, each after the ones it
/// refers to.
std::vector<std::string> opening_order(const PipelineSpec& spec) {
  std::map<std::string, const StageSpec*> specs;
  for (const StageSpec& stage : spec.stages) specs.emplace(stage.name, &stage);
  std::vector<std::string> order;
  std::set<std::string> seen;
  const std::function<void(const std::string&)> visit = [&](const std::string& name) {
    if (!seen.insert(name).second) return;
    if (const auto found = specs.find(name); found != specs.end()) {
      for (const auto& [parameter, target] : found->second->references) visit(target);
    }
    order.push_back(name);
  };
  for (const std::string& flow : scheduled_flows(spec)) {
    for (const FlowNode& node : flow_named(spec, flow).nodes) visit(node.stage);
  }
  return order;
}

std::string plugin_lines(const std::vector<PluginUsed>& plugins) {
  std::string lines;
  for (const PluginUsed& plugin : plugins) lines += plugin.sha256 + " " + plugin.path + "\n";
  return lines;
}

/// A number as it stands in a line for people.
std::string metric_text(double value) {
  return fmt::format("{:.4g}", value);
}

class Run final : public ScheduleSteps {
 public:
  Run(CheckedPipeline& pipeline, const RunOptions& options, Display& display, FlowRunner& flows)
      : pipeline_(pipeline),
        spec_(pipeline.spec),
        options_(options),
        display_(display),
        flows_(flows) {}

  RunSummary execute();

  FlowEnd run_flow(const std::string& flow, std::int64_t epoch) override;
  [[nodiscard]] bool stop_requested() const override {
    return options_.stop != nullptr && (options_.stop->drain || options_.stop->cancel);
  }
  [[nodiscard]] std::optional<double> metric(const std::string& name) const override {
    return services_->metrics().value(name);
  }
  [[nodiscard]] std::vector<std::string> metric_names() const override;
  void epoch_begins(std::int64_t epoch) override;
  void epoch_ended(const SchedulePosition& position) override;
  void checkpoint(const SchedulePosition& position) override;

 private:
  void start();
  void restore();
  void open_stages();
  void load_states();
  void open_files();
  void go_through_schedule();
  void close_stages();
  void finish_trace();
  void write_summary();
  void failed(const Error& error);

  StageRunner& stage(const std::string& name) { return *pipeline_.stages.at(name); }
  void where_it_belongs(const StageRunner& runner, const std::function<void()>& work);
  [[nodiscard]] std::vector<StageRunner*> stages_upstream(const std::string& name);
  [[nodiscard]] std::string moment(std::int64_t epoch) const;
  [[nodiscard]] bool trains(const FlowSpec& flow);
  [[nodiscard]] RunState run_state(std::int64_t epoch, const std::string& flow) const;
  FlowResult run_on_engine(const FlowSpec& flow, std::int64_t epoch);
  void note_flow(const FlowSpec& flow, std::int64_t epoch, const FlowResult& result,
                 std::chrono::system_clock::time_point began);
  [[nodiscard]] std::optional<Error> too_many_skipped(const FlowResult& result) const;
  void list_skipped(const FlowSpec& flow, std::int64_t epoch, const FlowResult& result);
  [[nodiscard]] std::string flow_line(const FlowSpec& flow, std::int64_t epoch,
                                      const FlowResult& result) const;
  [[nodiscard]] std::string place_text(const std::string& flow, std::int64_t epoch) const;
  [[nodiscard]] bool in_epochs(const std::string& flow) const;
  [[nodiscard]] std::optional<double> seconds_left() const;

  CheckedPipeline& pipeline_;  // these five are the caller's and outlive the run
  const PipelineSpec& spec_;
  const RunOptions& options_;
  Display& display_;
  FlowRunner& flows_;

  std::optional<RunDirectory> directory_;
  std::unique_ptr<RunServices> services_;
  Launch launch_;
  std::string pipeline_hash_;
  std::optional<Checkpoint> restored_;
  std::vector<std::string> opened_;  // in the order of opening
  std::optional<LineFile> metrics_file_;
  std::optional<LineFile> timing_file_;
  std::optional<LineFile> skipped_file_;
  std::int64_t trainings_ = 0;    ///< flows that trained and ended, in earlier processes as well
  std::unique_ptr<Trace> trace_;  // null: none

  RunSummary summary_;
  std::map<std::string, std::uint64_t> finished_before_;  // images of a flow's last run
  std::uint64_t finished_ = 0;                            // of the flow that ran last
  Clock::time_point epoch_began_;
  std::optional<double> last_epoch_seconds_;
};

RunSummary Run::execute() {
  const auto from = Clock::now();
  try {
    start();
  } catch (const Error& error) {
    failed(error);
  } catch (const std::exception& error) {  // the file system library's
    failed(Error(error.what()));
  }
  if (summary_.error) {
    finish_trace();
    return summary_;
  }
  try {
    restore();
    if (is_complete(spec_.schedule, summary_.position)) {
      services_->note("this run is complete; there is nothing left to do");
      summary_.complete = true;
      finish_trace();
      return summary_;  // the summary of the run that completed it stands
    }
    open_stages();
    load_states();
    open_files();
    go_through_schedule();
  } catch (const Error& error) {
    failed(error);
  } catch (const std::exception& error) {
    failed(Error(error.what(), Fault::internal));
  }
  close_stages();
  finish_trace();
  summary_.seconds = seconds_since(from);
  summary_.metrics = services_->metrics().means();
  write_summary();
  return summary_;
}

void Run::finish_trace() {
  if (!trace_) return;
  if (const auto error = trace_->finish()) {
    display_.message(fmt::format("the trace is not complete: {}", error->what()));
  }
}

void Run::start() {
  // First, so that a path that cannot be written leaves no folder behind.
  if (!options_.trace.empty()) trace_ = std::make_unique<Trace>(options_.trace);
  const bool resume = options_.start == Start::resume;
  directory_.emplace(resume ? RunDirectory::reopen(options_.run_directory)
                            : RunDirectory::create(options_.run_directory, spec_.name));
  summary_.run_directory = directory_->path();
  services_ = std::make_unique<RunServices>(display_, options_.stop, directory_->log(),
                                            directory_->reports());
  launch_ = make_launch(spec_, pipeline_.plugins);
  pipeline_hash_ = sha256(spec_.resolved);
  if (!resume) {
    write_whole_file(directory_->resolved(), headed_text(launch_, spec_.resolved));
    services_->note(fmt::format("run directory {}", directory_->path().string()));
  }
  services_->log_only(LogLevel::info,
                      fmt::format("seam {}, {} threads, working directory {}", launch_.version,
                                  options_.threads, launch_.working_directory));
}

/// Reads the newest checkpoint and says what differs from the run that wrote it.
void Run::restore() {
  if (options_.start == Start::fresh) return;
  const Launch before = read_launch(directory_->path());
  if (before.working_directory != launch_.working_directory) {
    services_->message(
        LogLevel::warning,
        fmt::format("this run was started in '{}'; relative paths now mean others, in '{}'",
                    before.working_directory, launch_.working_directory));
  }
  CheckpointFolder::Newest newest = CheckpointFolder(directory_->checkpoints()).newest();
  for (const std::string& sentence : newest.damaged) {
    services_->message(LogLevel::warning, sentence + "; going back to the one before");
  }
  if (!newest.checkpoint) {
    services_->note("the run has no checkpoint yet; it begins from the start");
    return;
  }
  CheckpointFolder(directory_->checkpoints()).remove_newer_than(newest.file);
  restored_ = std::move(newest.checkpoint);
  if (restored_->pipeline_hash != pipeline_hash_) {
    services_->message(LogLevel::warning,
                       "resolved.toml is not what the checkpoint was written with; what follows is "
                       "not what the run would have done");
  }
  if (restored_->plugins != plugin_lines(launch_.plugins)) {
    services_->message(LogLevel::warning,
                       "the plugins are not those that the checkpoint was written with; what "
                       "follows may differ from what the run would have done");
  }
  summary_.position = restored_->position;
  summary_.skipped_packets = restored_->skipped_packets;
  trainings_ = restored_->trainings;
  services_->metrics().restore(restored_->means);
  services_->note(fmt::format("going on after epoch {} of {}, from {}",
                              summary_.position.epochs_done, spec_.schedule.epochs,
                              newest.file.filename().string()));
}

void Run::where_it_belongs(const StageRunner& runner, const std::function<void()>& work) {
  if (runner.on_compute_thread()) {
    flows_.on_compute_thread(work);
  } else {
    work();
  }
}

RunState Run::run_state(std::int64_t epoch, const std::string& flow) const {
  RunState run;
  run.services = services_.get();
  run.seed = spec_.seed;
  run.epoch = epoch;
  run.trainings = trainings_;
  run.compute_threads = options_.threads;
  run.flow = flow;
  run.run_directory = directory_->path();
  return run;
}

/// The stages upstream of one in the flows that will run, each once.
std::vector<StageRunner*> Run::stages_upstream(const std::string& name) {
  std::vector<StageRunner*> upstream;
  for (const std::string& scheduled : scheduled_flows(spec_)) {
    const FlowSpec& flow = flow_named(spec_, scheduled);
    const auto node = std::ranges::find(flow.nodes, name, &FlowNode::stage);
    if (node == flow.nodes.end()) continue;
    for (const std::size_t at :
         upstream_of(flow, static_cast<std::size_t>(node - flow.nodes.begin()))) {
      StageRunner* runner = &stage(flow.nodes[at].stage);
      if (std::ranges::find(upstream, runner) == upstream.end()) upstream.push_back(runner);
    }
  }
  return upstream;
}

/// When in the schedule a flow runs.
std::string Run::moment(std::int64_t epoch) const {
  const SchedulePosition& position = summary_.position;
  if (!position.before_done) return "before";
  if (position.stopped_early || position.epochs_done >= spec_.schedule.epochs) return "after";
  return fmt::format("epoch-{:04}", epoch);
}

bool Run::trains(const FlowSpec& flow) {
  return std::ranges::any_of(
      flow.nodes, [&](const FlowNode& node) { return stage(node.stage).description().trains; });
}

void Run::open_stages() {
  services_->flow_begins(moment(summary_.position.epochs_done), "opening");
  const RunState run = run_state(summary_.position.epochs_done, "");
  for (const std::string& name : opening_order(spec_)) {
    if (stop_requested()) throw Error("stopped on request before the first flow", Fault::cancelled);
    StageRunner& runner = stage(name);
    runner.bind_upstream(stages_upstream(name));
    where_it_belongs(runner, [&] { runner.open(run); });
    opened_.push_back(name);
  }
}

void Run::load_states() {
  if (!restored_) return;
  for (const std::string& name : opened_) {
    StageRunner& runner = stage(name);
    if (!runner.description().keeps_state) continue;
    const auto saved = std::ranges::find(restored_->stages, name, &StageState::name);
    if (saved == restored_->stages.end()) {
      throw Error("the checkpoint has no state of stage '" + name +
                      "', which keeps one; the plugin that offers " + runner.type() +
                      " has changed since the run was started",
                  Fault::configuration);
    }
    if (saved->use != runner.type()) {
      throw Error("the checkpoint's state of stage '" + name + "' is that of a " + saved->use +
                      ", but the stage is a " + runner.type(),
                  Fault::configuration);
    }
    where_it_belongs(runner, [&] { runner.load(saved->archive); });
  }
  restored_->stages.clear();  // the memory is the stages' now
}

/// Opens the line files, cut back to what the checkpoint covers.
void Run::open_files() {
  std::filesystem::remove(directory_->summary());  // it told how the run ended before
  const Checkpoint begin = restored_ ? std::move(*restored_) : Checkpoint();
  metrics_file_.emplace(directory_->metrics(), begin.metrics_size);
  timing_file_.emplace(directory_->timing(), begin.timing_size);
  skipped_file_.emplace(directory_->skipped(), begin.skipped_size);
  const std::string lines = services_->metrics().take_lines(0, "", opened_, {});
  // A run that goes on has the numbers of its opening in the file already.
  if (begin.metrics_size == 0) metrics_file_->append(lines);
}

void Run::go_through_schedule() {
  const ScheduleEnd end = run_schedule(spec_.schedule, summary_.position, *this);
  summary_.complete = end == ScheduleEnd::complete;
  if (summary_.complete) return;
  summary_.code = ExitCode::cancelled;
  const bool saved = !CheckpointFolder(directory_->checkpoints()).files().empty();
  services_->message(
      LogLevel::warning,
      fmt::format("stopped on request after {} of {} epochs; {}\n  seam run --resume {}",
                  summary_.position.epochs_done, spec_.schedule.epochs,
                  saved ? "the last checkpoint stands, and what came after it is done again by"
                        : "there is no checkpoint yet, so it begins from the start by",
                  directory_->path().string()));
}

bool Run::in_epochs(const std::string& flow) const {
  return std::ranges::find(spec_.schedule.each_epoch, flow, &ScheduledFlow::flow) !=
         spec_.schedule.each_epoch.end();
}

std::string Run::place_text(const std::string& flow, std::int64_t epoch) const {
  if (!in_epochs(flow)) return fmt::format("flow '{}'", flow);
  return fmt::format("flow '{}' in epoch {} of {}", flow, epoch + 1, spec_.schedule.epochs);
}

std::optional<double> Run::seconds_left() const {
  if (!last_epoch_seconds_) return std::nullopt;
  const auto epochs =
      static_cast<double>(spec_.schedule.epochs - summary_.position.epochs_done - 1);
  return epochs * *last_epoch_seconds_ +
         std::max(*last_epoch_seconds_ - seconds_since(epoch_began_), 0.0);
}

FlowResult Run::run_on_engine(const FlowSpec& flow, std::int64_t epoch) {
  FlowProgress progress;
  FlowOptions options;
  options.run = run_state(epoch, flow.name);
  options.limits = spec_.limits;
  options.threads = options_.threads;
  for (const StageSpec& stage_spec : spec_.stages) {
    options.stage_specs.emplace(stage_spec.name, stage_spec);
  }
  if (spec_.max_errors) {
    const auto skipped = static_cast<std::int64_t>(summary_.skipped_packets);
    options.max_errors = std::max<std::int64_t>(*spec_.max_errors - skipped, 0);
  }
  options.progress = &progress;
  options.stop = options_.stop;
  options.calls = trace_.get();

  FlowView view;
  view.flow = flow.name;
  view.epoch = epoch;
  view.epochs = in_epochs(flow.name) ? spec_.schedule.epochs : 0;
  if (const auto before = finished_before_.find(flow.name); before != finished_before_.end()) {
    view.expected = before->second;
  }
  view.seconds_left = seconds_left();
  view.run_directory = directory_->path().string();
  view.progress = &progress;
  view.metrics = &services_->metrics();
  display_.flow_begins(std::move(view));
  FlowResult result;
  try {
    const Watchdog watchdog(
        place_text(flow.name, epoch), progress, spec_.limits,
        [this](const std::string& text) { services_->message(LogLevel::warning, text); });
    result = flows_.run(flow, pipeline_.stages, options);
  } catch (...) {
    display_.flow_ends();  // the view points at this function's variables
    throw;
  }
  finished_ = progress.finished;
  display_.flow_ends();
  return result;
}

ScheduleSteps::FlowEnd Run::run_flow(const std::string& name, std::int64_t epoch) {
  const FlowSpec& flow = flow_named(spec_, name);
  services_->flow_begins(moment(epoch), name);
  const auto began = std::chrono::system_clock::now();
  const FlowResult result = run_on_engine(flow, epoch);
  const std::uint64_t skipped_before = summary_.skipped_packets;
  note_flow(flow, epoch, result, began);
  services_->note(flow_line(flow, epoch, result));
  const auto doing = [&] { return "running " + place_text(name, epoch); };
  summary_.imbalances = result.imbalances;
  if (result.error) {
    if (result.error->fault() == Fault::cancelled && stop_requested()) return FlowEnd::stopped;
    Error error = *result.error;
    error.while_doing(doing());
    if (spec_.max_errors && skipped_before > 0) {
      error.while_doing(
          fmt::format("skipping at most {} packets in the whole run, {} of them before",
                      *spec_.max_errors, skipped_before));
    }
    throw error;
  }
  if (!result.cancelled) {  // half a flow says nothing about its share
    if (auto error = too_many_skipped(result)) throw error->while_doing(doing());
  }
  if (!result.imbalances.empty()) {
    std::string text = "the ledger does not balance: packets were lost";
    for (const std::string& sentence : result.imbalances) text += "\n" + sentence;
    Error error(text, Fault::internal);
    error.while_doing(doing());
    throw error;
  }
  if (result.cancelled) return FlowEnd::stopped;
  finished_before_[name] = finished_;
  if (trains(flow)) ++trainings_;
  return FlowEnd::complete;
}

std::optional<Error> Run::too_many_skipped(const FlowResult& result) const {
  if (!spec_.max_error_share) return std::nullopt;
  for (const StageCount& count : result.stages) {
    const auto failed = static_cast<double>(count.failed);
    const double allowed = *spec_.max_error_share * static_cast<double>(count.received);
    constexpr double rounding = 1e-9;  // 29 of 100 are not more than 0.29 of them
    if (failed <= allowed * (1 + rounding)) continue;
    const bool defect = std::ranges::any_of(result.failures, [&](const Failure& failure) {
      return failure.stage == count.stage && failure.fault == Fault::internal;
    });
    return Error(fmt::format("stage '{}' failed on {} of its {} packets, a larger share than "
                             "max_errors = {} allows",
                             count.stage, count_text(count.failed), count_text(count.received),
                             seam::to_text(Value{*spec_.max_error_share})),
                 defect ? Fault::internal : Fault::data);
  }
  return std::nullopt;
}

/// Adds a flow's numbers to the files. Also where it failed: the last numbers before a fault are
/// the interesting ones, and a run that goes on cuts them off.
void Run::note_flow(const FlowSpec& flow, std::int64_t epoch, const FlowResult& result,
                    std::chrono::system_clock::time_point began) {
  auto total = std::ranges::find(summary_.flows, flow.name, &FlowTotal::flow);
  if (total == summary_.flows.end()) {
    summary_.flows.push_back(FlowTotal{flow.name, 0, 0, 0, 0, 0, {}});
    total = std::prev(summary_.flows.end());
  }
  total->add(result);

  std::vector<std::string> stages;
  std::vector<std::string> unordered;
  for (const FlowNode& node : flow.nodes) {
    stages.push_back(node.stage);
    if (stage(node.stage).kind() == StageKind::parallel_transform) unordered.push_back(node.stage);
  }
  const std::string when = moment(epoch);
  metrics_file_->append(services_->metrics().take_lines(
      epoch, flow.name, stages, unordered, when.starts_with("epoch") ? std::string() : when));
  timing_file_->append(
      JsonObject()
          .add("epoch", epoch)
          .add("flow", flow.name)
          .add("began", time_text(began))
          .add("seconds", result.seconds)
          .add("images", finished_)
          .add("images_per_second",
               result.seconds > 0 ? static_cast<double>(finished_) / result.seconds : 0.0)
          .add("compute_idle_seconds", result.compute_idle_seconds)
          .add("packets_peak", result.packets_peak)
          .add("bytes_peak", result.bytes_peak)
          .text() +
      "\n");
  list_skipped(flow, epoch, result);
}

void Run::list_skipped(const FlowSpec& flow, std::int64_t epoch, const FlowResult& result) {
  if (result.skipped == 0) return;
  summary_.skipped_packets += result.skipped;
  std::string lines;
  for (const Failure& failure : result.failures) {
    lines += JsonObject()
                 .add("epoch", epoch)
                 .add("flow", flow.name)
                 .add("stage", failure.stage)
                 .add("origin", failure.origin)
                 .add("message", failure.message)
                 .text() +
             "\n";
  }
  if (result.skipped > result.failures.size()) {
    lines += JsonObject()
                 .add("epoch", epoch)
                 .add("flow", flow.name)
                 .add("not_listed", result.skipped - result.failures.size())
                 .text() +
             "\n";
  }
  skipped_file_->append(lines);
}

std::string Run::flow_line(const FlowSpec& flow, std::int64_t epoch,
                           const FlowResult& result) const {
  std::string line = in_epochs(flow.name)
                         ? fmt::format("epoch {}/{}  ", epoch + 1, spec_.schedule.epochs)
                         : std::string();
  line += fmt::format("{}: {} images in {}", flow.name, count_text(finished_),
                      duration_text(result.seconds));
  if (result.seconds > 0 && finished_ > 0) {
    line += " (" + rate_text(static_cast<double>(finished_) / result.seconds) + ")";
  }
  // A few of the numbers that its stages recorded; all are in metrics.jsonl.
  constexpr int most = 6;
  int shown = 0;
  for (const FlowNode& node : flow.nodes) {
    const std::string prefix = node.stage + ".";
    for (const auto& [name, value] : services_->metrics().means()) {
      if (!name.starts_with(prefix) || shown == most) continue;
      line += fmt::format("{} {} {}", shown == 0 ? ":" : ",", name, metric_text(value));
      ++shown;
    }
  }
  if (result.cancelled) line += " (stopped on request)";
  return line;
}

std::vector<std::string> Run::metric_names() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : services_->metrics().means()) names.push_back(name);
  return names;
}

void Run::epoch_begins(std::int64_t /*epoch*/) {
  services_->metrics().epoch_begins();
  epoch_began_ = Clock::now();
}

void Run::epoch_ended(const SchedulePosition& position) {
  last_epoch_seconds_ = seconds_since(epoch_began_);
  if (position.stopped_early) {
    services_->note(
        fmt::format("{} has not improved for {} measurements; the best, {}, was that of epoch {}",
                    spec_.schedule.stop_early->metric, position.without_gain,
                    position.best ? metric_text(*position.best) : "none", position.best_epochs));
  }
}

void Run::checkpoint(const SchedulePosition& position) {
  Checkpoint checkpoint;
  checkpoint.position = position;
  for (LineFile* file : {&*metrics_file_, &*timing_file_, &*skipped_file_}) file->sync();
  checkpoint.metrics_size = metrics_file_->size();
  checkpoint.timing_size = timing_file_->size();
  checkpoint.skipped_size = skipped_file_->size();
  checkpoint.skipped_packets = summary_.skipped_packets;
  checkpoint.trainings = trainings_;
  checkpoint.means = services_->metrics().means();
  checkpoint.pipeline_hash = pipeline_hash_;
  checkpoint.plugins = plugin_lines(launch_.plugins);
  for (const std::string& name : opened_) {
    StageRunner& runner = stage(name);
    if (!runner.description().keeps_state) continue;
    where_it_belongs(runner, [&] {
      checkpoint.stages.push_back({name, runner.type(), runner.save()});
    });
  }
  try {
    CheckpointFolder(directory_->checkpoints()).write(checkpoint);
  } catch (Error& error) {
    error.while_doing(fmt::format("writing the checkpoint after epoch {}", position.epochs_done));
    throw;
  }
}

void Run::failed(const Error& error) {
  summary_.error = error;
  summary_.code = summary_.imbalances.empty() ? exit_code_of(error.fault()) : ExitCode::incomplete;
  if (services_) services_->log_only(LogLevel::error, error.full_message());
}

/// In the reverse order of opening: a stage that others refer to goes after them.
void Run::close_stages() {
  for (auto name = opened_.rbegin(); name != opened_.rend(); ++name) {
    StageRunner& runner = stage(*name);
    try {
      where_it_belongs(runner, [&] { runner.close(); });
    } catch (const Error& error) {
      if (summary_.error) {  // the first one decides
        services_->message(LogLevel::error, error.full_message());
      } else {
        failed(error);
      }
    }
  }
}

void Run::write_summary() {
  try {
    write_whole_file(directory_->summary(), to_json(summary_, spec_.name, spec_.schedule.epochs));
  } catch (const Error& error) {
    if (!summary_.error) failed(error);
  }
  display_.result(to_table(summary_));
}

}  // namespace

RunSummary run_pipeline(CheckedPipeline& pipeline, const RunOptions& options, Display& display,
                        FlowRunner& flows) {
  return Run(pipeline, options, display, flows).execute();
}

RunSummary run_pipeline(CheckedPipeline& pipeline, const RunOptions& options, Display& display) {
  EngineFlows flows(options.threads);
  return run_pipeline(pipeline, options, display, flows);
}

}  // namespace seam::host
