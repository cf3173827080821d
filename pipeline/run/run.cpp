#include "pipeline/run/run.hpp"

#include <fmt/format.h>

#include <exception>
#include <memory>
#include <new>
#include <set>
#include <utility>

#include "pipeline/run/agreement.hpp"
#include "pipeline/run/checkpoint.hpp"
#include "pipeline/run/checksum.hpp"
#include "pipeline/run/class_names.hpp"
#include "pipeline/run/clock.hpp"
#include "pipeline/run/crash_report.hpp"
#include "pipeline/run/data_files.hpp"
#include "pipeline/run/ending.hpp"
#include "pipeline/run/flow_steps.hpp"
#include "pipeline/run/found_checkpoints.hpp"
#include "pipeline/run/from_run.hpp"
#include "pipeline/run/memory_limit.hpp"
#include "pipeline/run/parts.hpp"
#include "pipeline/run/recorded_inputs.hpp"
#include "pipeline/run/recorder.hpp"
#include "pipeline/run/run_stages.hpp"
#include "pipeline/run/schedule.hpp"
#include "pipeline/run/scores.hpp"
#include "pipeline/run/services.hpp"
#include "pipeline/run/trace.hpp"
#include "pipeline/text/count.hpp"
#include "pipeline/text/refuse.hpp"
#include "pipeline/text/utf8.hpp"
#include "sdk/src/out_of_memory.hpp"
#include "sdk/src/weights_metadata.hpp"

namespace seam::host {
namespace {

/// A run from its folder to its summary; FlowSteps executes the steps of the schedule.
class Run final {
 public:
  Run(CheckedPipeline& pipeline, const RunOptions& options, Display& display, FlowRunner& flows)
      : pipeline_(pipeline),
        spec_(pipeline.spec),
        options_(options),
        display_(display),
        flows_(flows),
        stages_(pipeline, flows),
        scores_(pipeline) {}

  RunSummary execute();

 private:
  void start();
  [[nodiscard]] Launch new_launch(const std::optional<Beginning>& begins_with) const;
  void note_start(const std::optional<Beginning>& begins_with);
  void restore();
  /// For a run that starts from another run: the checkpoint and the position in the schedule.
  [[nodiscard]] Beginning beginning();
  void open_stages();
  void restore_scores();
  /// Null if no event file is wanted.
  [[nodiscard]] std::unique_ptr<TensorBoardLog> tensorboard_log() const;
  void go_through_schedule();
  /// Runs `work` and notes what it throws.
  void attempt(const std::function<void()>& work);
  /// Notes an error; the first one is the run's.
  void failed(const Error& error);
  void end();
  void write_summary_file();
  /// Shows the score and the suggested next command.
  void show_score();
  void warn_of_lost_packets();
  RunSummary summary();

  CheckedPipeline& pipeline_;  // these five are the caller's and outlive the run
  const PipelineSpec& spec_;
  const RunOptions& options_;
  Display& display_;
  FlowRunner& flows_;

  std::optional<RunDirectory> directory_;
  std::optional<CrashReport> crash_report_;
  std::unique_ptr<RunServices> services_;
  std::unique_ptr<Trace> trace_;  // null: none
  Launch launch_;
  RunIdentity identity_;
  Checkpoint begin_;  // the start of this process; default-constructed for a new run
  bool from_checkpoint_ = false;
  RecordedData recorded_data_;  // of the earlier run
  RunStages stages_;
  Scores scores_;
  RunSummary summary_;
};

RunSummary Run::execute() {
  const auto from = std::chrono::steady_clock::now();
  attempt([this] {
    start();
    restore();
  });
  if (!summary_.error && is_complete(spec_.schedule, summary_.position)) {
    attempt([this] {
      recorded_data_.check_files(launch_.data, directory_->path());
      summary_.complete = true;
      services_->note("this run is complete; there is nothing left to do");
      scores_.restore(directory_->metrics(), begin_.metrics_size);
      // Otherwise it stays as the process that completed the run wrote it.
      if (!ended_run(directory_->summary()).complete) {
        if (!begin_.numerics.empty() && begin_.numerics != identity_.numerics) {
          refuse(
              "'{}' is complete, but has no summary.json; to write it, resume the run with the "
              "device and precision of its last checkpoint, {}",
              directory_->path().string(), begin_.numerics);
        }
        summary_.listings = begin_.listings;
        write_summary_file();
      }
      show_score();
    });
    return summary();
  }
  if (!services_) return summary();  // there is no folder to end it in
  // Nothing was started, so summary.json still describes the run.
  if (summary_.error && options_.start == Start::resume) return summary();
  if (!summary_.error) {
    attempt([this] {
      std::filesystem::remove(directory_->summary());  // of the previous process
      recorded_data_.check_files(launch_.data, directory_->path());
      open_stages();
      go_through_schedule();
    });
  }
  if (summary_.error && options_.ranks != nullptr) (void)options_.ranks->fail(*summary_.error);
  for (const Error& error : stages_.close()) failed(error);
  summary_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
  end();
  return summary();
}

void Run::attempt(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    failed(error);
  } catch (const std::filesystem::filesystem_error& error) {  // an error of the disk, not a bug
    failed(Error(error.what(), Fault::data));
  } catch (const std::bad_alloc&) {
    failed(out_of_memory());
  } catch (const std::exception& error) {
    failed(Error(error.what(), Fault::internal));
  }
}

void Run::failed(const Error& error) {
  if (summary_.error) {
    services_->message(LogLevel::error, "then another error occurred: " + error.full_message());
    return;
  }
  summary_.error = error;
  summary_.code = summary_.imbalances.empty() ? exit_code_of(error.fault()) : ExitCode::incomplete;
  if (services_) services_->log_only(LogLevel::error, error.full_message());
}

void Run::start() {
  // First, so that no folder is created if the run does not fit into the memory, the trace cannot
  // be written, --from is rejected or the ranks do not agree.
  const MemoryLimit memory = memory_limit(options_.environment);
  refuse_larger(spec_.limits.bytes, memory);
  const auto traceparent = options_.environment.find("TRACEPARENT");
  const bool traced = traceparent != options_.environment.end() && !traceparent->second.empty();
  if (traced && is_traceparent(traceparent->second)) summary_.traceparent = traceparent->second;
  if (!options_.trace.empty()) {
    trace_ = std::make_unique<Trace>(options_.trace, summary_.traceparent);
  }
  std::optional<Beginning> begins_with;
  if (options_.start == Start::from) begins_with = beginning();
  if (options_.shard) refuse_unless_splittable(pipeline_);
  launch_ = new_launch(begins_with);
  if (options_.ranks != nullptr) agree_on(terms_of(launch_, spec_, options_), *options_.ranks);
  const bool resume = options_.start == Start::resume;
  directory_.emplace(resume ? RunDirectory::reopen(options_.run_directory)
                            : RunDirectory::create(options_.run_directory, spec_.name));
  summary_.run_directory = directory_->path();
  crash_report_.emplace(*directory_);
  identity_ = {
      spec_.resolved, plugin_lines(launch_.plugins), to_text(options_.numerics), std::nullopt, {}};
  if (resume) identity_.pipeline = pipeline_below_head(read_text_file(directory_->resolved()));
  summary_.numerics = options_.numerics;
  summary_.shard = launch_.shard;
  if (options_.shard) summary_.inputs = digest_of(inputs_of(launch_, spec_.resolved));
  if (begins_with) {
    // The new run's own checkpoints record its own lists.
    recorded_data_.add_listings(std::exchange(begins_with->checkpoint.listings, {}));
    lay_out(*begins_with, *directory_);
  }
  // After the checkpoint: a folder without resolved.toml is not a run folder, so it cannot be
  // resumed as a run that has done nothing.
  if (!resume) write_whole_file(directory_->resolved(), headed_text(launch_, spec_.resolved));
  services_ = std::make_unique<RunServices>(
      display_, options_.stop, directory_->log(), directory_->reports(),
      trains(pipeline_) ? RunServices::Reports::filed : RunServices::Reports::shown);
  if (begins_with) {
    std::set<std::string> keys;
    for (const Difference& one : begins_with->differences) keys.insert(one.key);
    recorded_data_.only_warn(": this run continues with different data", keys, spec_.roles,
                             *services_);
  }
  note_start(begins_with);
  services_->log_only(LogLevel::info, "memory limit " + to_text(memory));
  if (!summary_.traceparent.empty()) {
    services_->log_only(LogLevel::info, "traceparent " + summary_.traceparent);
  } else if (traced) {
    services_->warn(
        fmt::format("TRACEPARENT is ignored: '{}' is not of the form "
                    "00-TRACE-CALLER-FLAGS with 32, 16 and 2 hexadecimal digits",
                    as_utf8(traceparent->second)));
  }
}

Launch Run::new_launch(const std::optional<Beginning>& begins_with) const {
  Launch launch = make_launch(spec_, pipeline_.plugins);
  launch.data = data_files(pipeline_);
  launch.roles = spec_.roles;
  if (options_.shard) {
    launch.shard = to_text(*options_.shard);
    launch.numerics = to_text(options_.numerics);
    launch.data.merge(initial_files(pipeline_));
  } else if (options_.start == Start::fresh && options_.evaluates.run.empty()) {
    launch.initial = initial_files(pipeline_);
  }
  launch.evaluates = options_.evaluates;
  launch.trained_with = options_.trained_with;
  launch.evaluated_with = options_.evaluated_with;
  if (!launch.evaluates.run.empty()) {
    Launch training = read_launch(launch.evaluates.run);
    launch.file = std::move(training.file);
    launch.data.merge(training.data);  // files that only the training reads
    launch.initial = std::move(training.initial);
    launch.from = std::move(training.from);
  }
  if (begins_with) {
    Launch earlier = read_launch(options_.from);
    launch.file = std::move(earlier.file);
    launch.initial = std::move(earlier.initial);
    launch.from = {std::filesystem::absolute(options_.from).lexically_normal().string(),
                   begins_with->file.filename().string(), sha256_of_file(begins_with->file)};
  }
  return launch;
}

void Run::note_start(const std::optional<Beginning>& begins_with) {
  if (options_.start != Start::resume) {
    services_->note(fmt::format("run directory {}", directory_->path().string()));
  }
  if (!launch_.evaluates.run.empty()) {
    services_->note("evaluating " + to_text(launch_.evaluates));
    warn_of_changes_since(read_launch(launch_.evaluates.run), launch_, identity_, *services_);
    summary_.listings = listings_of_evaluated(launch_);  // some data sets only the training reads
    if (options_.start == Start::fresh) {                // otherwise with its own earlier process
      std::set<std::string> keys;
      for (const auto& [key, value] : launch_.evaluated_with) keys.insert(key);
      recorded_data_.add_listings(summary_.listings);
      recorded_data_.only_warn("; the scores may differ from those of the trained network", keys,
                               spec_.roles, *services_);
    }
  }
  if (begins_with) {
    services_->note(fmt::format("starting from {}: {}", to_text(launch_.from),
                                begins_with->differences.empty()
                                    ? "the same pipeline"
                                    : to_text(begins_with->differences)));
  }
  services_->log_only(LogLevel::info,
                      fmt::format("seam {}, {} threads, {}, working directory {}", launch_.version,
                                  options_.threads, identity_.numerics, launch_.working_directory));
  if (options_.numerics != Numerics()) services_->note("computing on " + identity_.numerics);
  if (options_.ranks != nullptr) {
    services_->note(fmt::format("{} ranks share out the {} lanes of the networks",
                                options_.ranks->world(), spec_.lanes.count));
  }
}

Beginning Run::beginning() {
  return beginning_from(options_.from, *options_.before, pipeline_,
                        [this](const std::string& warning) { display_.message(warning); });
}

/// Reads the newest checkpoint and warns of differences from the run that wrote it.
void Run::restore() {
  if (options_.start == Start::fresh) return;
  const Launch recorded =
      read_launch(options_.start == Start::from ? options_.from : directory_->path());
  warn_of_other_folder(recorded, launch_, *services_);
  recorded_data_.add_files(recorded.data);
  if (const std::string crash = last_crash(directory_->path()); !crash.empty()) {
    services_->warn(
        fmt::format("the last process of this run crashed: {}; for source lines: "
                    "seam doctor --crash {}",
                    crash, directory_->log().string()));
  }
  CheckpointFolder::Newest newest =
      newest_checkpoint(*directory_, recorded, spec_, options_, *services_);
  if (!newest.checkpoint) {
    // It begins with the initial weights once more.
    recorded_data_.add_files(recorded.initial);
    if (recorded.evaluates.run.empty()) launch_.data.merge(initial_files(pipeline_));
    return;
  }
  begin_ = std::move(*newest.checkpoint);
  recorded_data_.add_listings(begin_.listings);
  from_checkpoint_ = true;
  refuse_edited(begin_.pipeline.value_or(identity_.pipeline), identity_.pipeline, spec_.roles,
                newest.file.filename().string(), directory_->path().string());
  warn_of_differences(begin_, identity_, *services_);
  // As recorded when the run began: the run that the weights came from may have continued since.
  identity_.chosen = begin_.chosen.value_or(std::vector<ChosenWeights>());
  scores_.began_with(identity_.chosen);
  summary_.position = begin_.position;
  summary_.skipped_packets = begin_.skipped_packets;
  services_->metrics().restore(begin_.means);
  const SchedulePosition& position = begin_.position;
  const bool within = begin_.flow || position.flows_done > 0;
  services_->note(fmt::format(
      "{} {}, from {}", options_.start == Start::resume ? "resuming" : "continuing",
      within ? place_text(spec_.schedule, position, begin_.flow)
             : fmt::format("after epoch {} of {}", position.epochs_done, spec_.schedule.epochs),
      newest.file.filename().string()));
}

void Run::open_stages() {
  const std::int64_t epoch = summary_.position.epochs_done;
  services_->flow_begins(moment_text(spec_.schedule, summary_.position, epoch), "opening");
  RunState run = run_state(spec_, options_, *directory_, *services_);
  run.epoch = epoch;
  run.trainings = begin_.trainings;
  // The checkpoint has their states, and the initial weights may no longer exist.
  if (from_checkpoint_) {
    for (const auto& [name, runner] : pipeline_.stages) runner->forget_initial();
  }
  stages_.open(run, [this] { return services_->stop_requested(); });
  if (options_.shard) begin_parts(pipeline_);
  const Listings listings = listings_of(pipeline_, stages_.opened());
  recorded_data_.check_listings(listings, directory_->path());
  if (options_.shard) refuse_other_lists(directory_->path(), listings);
  for (const auto& [stage, digest] : listings) summary_.listings.insert_or_assign(stage, digest);
  if (!from_checkpoint_) {
    for (const std::string& warning : check_imported_classes(pipeline_)) services_->warn(warning);
    if (launch_.evaluates.run.empty()) {  // otherwise compared when the run began
      for (const std::string& warning : check_imported_files(pipeline_, launch_)) {
        services_->warn(warning);
      }
    }
  }
  identity_.best_by = rule_of(pipeline_);
  if (!begin_.chosen) identity_.chosen = imported_choices(pipeline_, stages_.opened());
  scores_.began_with(identity_.chosen);
  if (from_checkpoint_) {
    refuse_other_classes(pipeline_, begin_.classes);
    stages_.load(begin_.stages, begin_.position);
    begin_.stages.clear();  // frees memory
  }
  // Each rank may have read its own file of weights, and its own folder of images.
  if (options_.ranks != nullptr) {
    Terms terms = terms_of(stages_.save(begin_.position));
    for (const auto& [stage, digest] : listings) {
      terms.emplace_back("list of stage '" + stage + "'", fmt::format("{:016x}", digest));
    }
    agree_on(terms, *options_.ranks);
  }
}

/// Restores the scores of the flows that the checkpoint covers; score.json may have later ones.
void Run::restore_scores() {
  scores_.restore(directory_->metrics(), begin_.metrics_size);
  const std::vector<Score> scores = scores_.list();
  if (scores.empty()) {
    std::filesystem::remove(directory_->score());
  } else {
    write_whole_file(directory_->score(), score_json(scores));
  }
}

std::unique_ptr<TensorBoardLog> Run::tensorboard_log() const {
  if (!spec_.tensorboard) return nullptr;
  const StepAxis axis = trains(pipeline_) ? StepAxis::training_steps : StepAxis::epochs;
  return std::make_unique<TensorBoardLog>(directory_->path(), *spec_.tensorboard, axis,
                                          from_checkpoint_ ? &begin_ : nullptr, *services_);
}

void Run::go_through_schedule() {
  Recorder recorder(*directory_, {begin_.metrics_size, begin_.timing_size, begin_.skipped_size},
                    tensorboard_log());
  recorder.opened(services_->metrics(), stages_.opened());
  restore_scores();
  SchedulePosition& position = summary_.position;
  warn_of_missing_best(spec_.schedule.keep, position, *directory_, *services_);
  position.best_kept = best_kept(spec_.schedule.keep, position.best_kept, directory_->checkpoints(),
                                 directory_->metrics(), begin_.metrics_size);
  services_->metrics().restore_epoch(begin_.epoch_means);
  FlowSteps steps({pipeline_, options_, display_, flows_, *directory_, *services_, stages_,
                   recorder, scores_, summary_, trace_.get()},
                  identity_, {begin_.trainings, begin_.training_steps, std::move(begin_.flow)});
  const ScheduleEnd end = run_schedule(spec_.schedule, summary_.position, steps);
  if (options_.ranks != nullptr) {
    (void)options_.ranks->all_gather("the end of the run", {}, Patience::flow);
    const Exchanged& exchanged = options_.ranks->exchanged();
    services_->note(fmt::format("this rank spent {:.1f} s in exchanges, and received {}",
                                exchanged.seconds, mebibytes_text(exchanged.bytes)));
  }
  if (end == ScheduleEnd::complete && options_.shard) {
    summary_.files = written_files(pipeline_, directory_->path());
  }
  summary_.complete = end == ScheduleEnd::complete;
  if (summary_.complete) return;
  summary_.code = ExitCode::cancelled;
  if (options_.extent != Extent::whole) return;
  summary_.steps_done = steps.under_way() ? steps.under_way()->point.steps : 0;
  const auto files = CheckpointFolder(directory_->checkpoints()).files();
  services_->warn(fmt::format("stopped on request {}; {}; resume with:\n  seam run --resume {}",
                              place_text(spec_.schedule, summary_.position, steps.under_way()),
                              files.empty()
                                  ? "there is no checkpoint yet, all work will be repeated"
                                  : "the newest checkpoint is " + files.front().filename().string(),
                              directory_->path().string()));
}

/// Writes summary.json and shows the closing table and the score.
void Run::end() {
  attempt([this] { write_summary_file(); });
  display_.result(to_table(summary_, options_.timing));
  show_score();
}

void Run::write_summary_file() {
  summary_.metrics = services_->metrics().means();
  write_whole_file(directory_->summary(), to_json(summary_, spec_));
}

void Run::show_score() {
  summary_.scores = scores_.list();
  summary_.trains = trains(pipeline_);
  for (const std::string& floor :
       summary_.complete ? scores_.lone_floors() : std::vector<std::string>()) {
    services_->warn(
        fmt::format("the floor '{}' is not compared with any score: no other stage of its type "
                    "evaluates the same data with the same protocol",
                    floor));
  }
  if (!summary_.scores.empty()) warn_of_lost_packets();
  const Screen& screen = display_.screens().results;
  display_.score(score_table(summary_.scores, spec_.schedule, screen));
  display_.result(next_text(summary_, spec_, screen));
}

/// Queries and gallery images that failed or were dropped change a score. A training loses an
/// incomplete batch now and then, but not most of what it reads.
void Run::warn_of_lost_packets() {
  for (const FlowTotal& total : summary_.flows) {
    const std::uint64_t lost = lost_packets(total);
    if (trains(pipeline_, flow_named(spec_, total.flow))) {
      for (const StageCount& stage : total.stages) {
        const std::uint64_t here = stage.failed + stage.dropped_total();
        if (2 * here <= stage.received) continue;
        services_->warn(
            fmt::format("flow '{}' lost {} of {} in stage '{}': it was trained on the rest",
                        total.flow, here, packets_text(stage.received), stage.stage));
      }
      continue;
    }
    if (lost == 0) continue;
    services_->warn(fmt::format("flow '{}' lost {}: the scores are without them", total.flow,
                                packets_text(lost)));
  }
}

RunSummary Run::summary() {
  if (trace_) {
    if (const auto error = trace_->finish()) {
      display_.message(fmt::format("the trace is incomplete: {}", error->what()));
    }
  }
  return std::move(summary_);
}

}  // namespace

RunSummary run_pipeline(CheckedPipeline& pipeline, const RunOptions& options, Display& display,
                        FlowRunner& flows) {
  return Run(pipeline, options, display, flows).execute();
}

}  // namespace seam::host
