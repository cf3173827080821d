#include "pipeline/experiments/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <set>
#include <utility>

#include "pipeline/config/load.hpp"
#include "pipeline/config/parameters.hpp"
#include "pipeline/config/stages.hpp"
#include "pipeline/config/sweep.hpp"
#include "pipeline/experiments/run_list.hpp"
#include "pipeline/plugins/description_cache.hpp"
#include "pipeline/run/checksum.hpp"
#include "pipeline/run/clock.hpp"
#include "pipeline/run/data_files.hpp"
#include "pipeline/run/files.hpp"
#include "pipeline/run/run.hpp"
#include "pipeline/text/lists.hpp"
#include "pipeline/text/refuse.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace fs = std::filesystem;
namespace {

constexpr const char* plugin_variable = "SEAM_PLUGIN_PATH";

/// Adds the run's settings to those that the request sets for all runs.
void apply_settings(const PlannedRun& run, LoadOptions& options) {
  for (const auto& [key, value] : run.settings) {
    if (is_variant_key(key)) {
      options.variants.push_back(value);
    } else {
      options.overrides.push_back(key + "=" + value);
    }
  }
}

void refuse_twins(const std::vector<PlannedRun>& runs, const std::vector<std::string>& pipelines) {
  std::map<Parameters, std::size_t> seen;
  for (std::size_t at = 0; at < pipelines.size(); ++at) {
    Parameters parameters = parameters_of(pipelines[at], runs[at].name);
    std::erase_if(parameters, [](const auto& entry) {
      return entry.first.starts_with("chosen.") || is_variant_key(entry.first);
    });
    const auto [first, is_new] = seen.emplace(std::move(parameters), at);
    if (is_new) continue;
    refuse("runs '{}' and '{}' would be identical; list each value once", runs[first->second].name,
           runs[at].name);
  }
}

/// Refuses runs whose stages would replace each other's files. `written`: by stage and path, the
/// runs of this shard before.
void refuse_shared_files(const PlannedRun& run, const CheckedPipeline& pipeline, const Shard& shard,
                         std::map<std::pair<std::string, std::string>, std::string>& written) {
  for (const WrittenElsewhere& outside : written_elsewhere(pipeline)) {
    if (!pipeline.stages.at(outside.stage)->description().only_writes) continue;
    const fs::path path = fs::path(outside.path) / "";  // "a" and "a/" are one folder
    const auto [before, is_new] =
        written.emplace(std::pair(outside.stage, path.lexically_normal().string()), run.name);
    const bool is_varied = std::ranges::any_of(
        run.settings, [&](const auto& setting) { return setting.first == outside.key; });
    if (is_new && (shard.of == 1 || is_varied)) continue;
    refuse(
        "stage '{}' would write to '{}' in {}, and replace the files of the first; use a path "
        "relative to the run folder: --set {}=FOLDER",
        outside.stage, outside.path,
        is_new ? "the runs of all shards"
               : fmt::format("runs '{}' and '{}'", before->second, run.name),
        outside.key);
  }
}

/// A hash of all that can change the run's results but paths, which may differ between machines.
std::string fingerprint_of(const CheckedPipeline& pipeline) {
  const Roles& roles = pipeline.spec.roles;
  std::string text;
  for (const auto& [key, value] : parameters_of(pipeline.spec.resolved, pipeline.spec.name)) {
    if (roles.changes_results(key) && !roles.is_path(key)) text += key + "=" + value + "\n";
  }
  return sha256(text);
}

/// With the runs of all shards. `prepare` loads the pipeline of one of the runs; its errors are
/// reported by the caller.
SweepPlan plan_of(const SweepRequest& request, const SweepSpec& spec, const VariantNames& variants,
                  const std::function<PreparedRun(const PlannedRun&)>& prepare) {
  const auto roles_with = [&prepare](const PlannedRun& run) {
    const PreparedRun prepared = prepare(run);
    return prepared.loaded.pipeline ? prepared.loaded.pipeline->spec.roles : Roles();
  };
  SweepPlan plan;
  plan.over = request.over.empty() ? spec.over : request.over;
  plan.random = request.random ? request.random : spec.random;
  plan.random_seed = request.random_seed.value_or(spec.random_seed);
  if (plan.over.empty()) {
    refuse(
        "there are no parameters to vary: set some with --over stage.loss.margin=0.2,0.5,1 or in a "
        "[sweep] table in '{}'",
        request.file.string());
  }
  std::optional<RandomSearch> random;
  if (plan.random) random = {*plan.random, plan.random_seed};
  const std::vector<Axis> axes = parse_axes(plan.over, variants);
  plan.runs = random ? draw_runs(axes, *random, roles_with) : plan_runs(axes, random, roles_of({}));
  plan.set = request.set;
  for (const std::string& variant : request.variants) plan.set.push_back("variant=" + variant);
  plan.file = fs::absolute(request.file).lexically_normal().string();
  plan.started = time_text(std::chrono::system_clock::now());
  plan.working_directory = fs::current_path().string();
  plan.jobs = request.jobs;
  for (const std::string& path : request.plugin_paths) {
    plan.plugin_paths.push_back(fs::absolute(path).lexically_normal().string());
  }
  const auto search_path = request.environment.find(plugin_variable);
  if (search_path != request.environment.end()) plan.plugin_search_path = search_path->second;
  return plan;
}

/// The last output line of a run's process, such as an error before its folder existed.
std::string last_line(const fs::path& file) {
  std::string text = read_text_file(file);
  while (text.ends_with('\n')) text.pop_back();
  const std::size_t line = text.rfind('\n');
  return line == std::string::npos ? text : text.substr(line + 1);
}

ExitCode code_of(const ChildEnd& end) {
  if (end.signal != 0) {
    const sigset_t stop = stop_signal_set();
    const bool asked = end.signal == SIGKILL || sigismember(&stop, end.signal) == 1;
    return asked ? ExitCode::cancelled : ExitCode::internal;
  }
  constexpr int last_code = static_cast<int>(ExitCode::incomplete);
  const bool known = end.exit_code == 0 || (end.exit_code > 1 && end.exit_code <= last_code);
  return known ? static_cast<ExitCode>(end.exit_code) : ExitCode::internal;
}

/// A sweep's folder while its runs are in progress.
class Execution {
 public:
  Execution(fs::path folder, const SweepOptions& options, ChildProcesses& children)
      : folder_(std::move(folder)),
        options_(options),
        children_(children),
        plan_(read_plan(folder_)) {}

  ExitCode run() {
    const std::unique_ptr<FolderLock> lock = locked();
    find_work();
    const int jobs = std::clamp(options_.jobs.value_or(plan_.jobs), 1,
                                std::max(1, static_cast<int>(todo_.size())));
    threads_ = shared_out(options_.threads.value_or(plan_.threads), jobs);
    slots_.assign(threads_.size(), std::nullopt);
    if (!todo_.empty()) {
      options_.say(fmt::format("{} of {} runs to do, {} at a time, {} thread{} each, in {}",
                               todo_.size(), plan_.runs.size(), jobs, threads_.front(),
                               threads_.front() == 1 ? "" : "s", folder_.string()));
    }
    fs::create_directories(folder_ / "output");
    while (true) {
      while (!stopping_ && next_ < todo_.size() && children_.running() < threads_.size())
        begin_next();
      if (children_.running() == 0) break;
      const ChildProcesses::Event event = children_.wait();
      if (event.end) {
        finished(*event.end);
      } else {
        stop(event.requests);
      }
    }
    say_result();
    return code_;
  }

 private:
  [[nodiscard]] std::unique_ptr<FolderLock> locked() const {
    try {
      return std::make_unique<FolderLock>(folder_);
    } catch (const Error& error) {
      if (error.fault() != Fault::configuration) throw;
      refuse("another process is running sweep '{}'; wait until it has ended", folder_.string());
    }
  }

  void find_work() {
    const std::vector<RunFolder> runs = runs_of_sweep(folder_, "");
    for (std::size_t at = 0; at < runs.size(); ++at) {
      if (runs[at].state == RunState::complete) {
        ++complete_;
      } else if (runs[at].state == RunState::running) {
        refuse("run '{}' is still in progress ({}); wait until it has ended",
               runs[at].path.string(), runs[at].note.empty() ? "another process" : runs[at].note);
      } else {
        todo_.push_back(at);
      }
    }
  }

  void begin_next() {
    const std::size_t run = todo_[next_++];
    const auto slot = std::find(slots_.begin(), slots_.end(), std::nullopt) - slots_.begin();
    try {
      children_.start(static_cast<int>(run), command(run, threads_[slot]));
      slots_[slot] = {run, std::chrono::steady_clock::now()};
    } catch (const Error& error) {
      failed(exit_code_of(error.fault()));
      tell(run, "could not be started: " + error.full_message());
    }
  }

  [[nodiscard]] ChildCommand command(std::size_t run, int threads) const {
    const std::string& name = plan_.runs[run].name;
    const fs::path folder = folder_ / name;
    ChildCommand command;
    command.program = fs::read_symlink("/proc/self/exe");
    command.arguments = {"run", "--quiet", "--threads", std::to_string(threads)};
    if (is_run_folder(folder)) {
      command.arguments.insert(command.arguments.end(), {"--resume", folder.string()});
    } else {
      command.arguments.push_back((folder_ / "pipelines" / (name + ".toml")).string());
      command.arguments.insert(command.arguments.end(), {"--run-dir", folder.string()});
      for (const std::string& path : plan_.plugin_paths) {
        command.arguments.insert(command.arguments.end(), {"--plugin-path", path});
      }
    }
    command.folder = plan_.working_directory;
    if (!fs::is_directory(command.folder)) {
      throw Error(
          fmt::format("the working directory of the sweep, '{}', no longer exists; its relative "
                      "paths start there",
                      plan_.working_directory));
    }
    command.environment = options_.environment;
    if (!plan_.plugin_search_path.empty()) {
      command.environment.insert_or_assign(plugin_variable, plan_.plugin_search_path);
    }
    command.output = folder_ / "output" / (name + ".txt");
    return command;
  }

  void finished(const ChildEnd& end) {
    const auto run = static_cast<std::size_t>(end.id);
    const auto slot = std::ranges::find_if(
        slots_, [run](const auto& started) { return started && started->first == run; });
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - (*slot)->second).count();
    slot->reset();
    const std::string& name = plan_.runs[run].name;
    try {
      const RunFolder folder = read_run(folder_ / name, name);
      ExitCode code = code_of(end);
      if (code == ExitCode::success && folder.state == RunState::complete) {
        ++complete_;
        tell(run, fmt::format("complete in {}{}", duration_text(seconds), score_text(folder)));
        return;
      }
      if (code == ExitCode::success) code = ExitCode::internal;
      failed(code);
      tell(run, what_happened(end, code, folder));
    } catch (const Error& error) {
      failed(exit_code_of(error.fault()));
      tell(run, error.full_message());
    }
  }

  [[nodiscard]] std::string what_happened(const ChildEnd& end, ExitCode code,
                                          const RunFolder& run) const {
    if (end.signal != 0) {
      return fmt::format("killed by signal {}{}{}", end.signal, run.note.empty() ? "" : ": ",
                         run.note);
    }
    if (code == ExitCode::cancelled) {
      return fmt::format("stopped after {} of {} epochs", run.epochs_done, run.epochs);
    }
    std::string why = run.state == RunState::failed
                          ? run.note
                          : last_line(folder_ / "output" / (run.name + ".txt"));
    return fmt::format("failed with exit code {}: {}", end.exit_code, why);
  }

  static std::string score_text(const RunFolder& run) {
    try {
      const std::optional<ShownScore> score = shown_score(run, "");
      if (!score) return {};
      return fmt::format(", {} {:.4g}", score->metric, score->value.value);
    } catch (const Error& error) {
      return "; its score cannot be read: " + error.full_message();
    }
  }

  void tell(std::size_t run, const std::string& what) {
    ++told_;
    options_.say(fmt::format("{}/{}  {}: {}", told_, todo_.size(), plan_.runs[run].name, what));
  }

  /// The first failure determines the exit code.
  void failed(ExitCode code) {
    if (code_ == ExitCode::success) code_ = code;
    if (code == ExitCode::cancelled) {
      ++stopped_;
    } else {
      ++failed_;
    }
  }

  void stop(int requests) {
    stopping_ = true;
    if (code_ == ExitCode::success) code_ = ExitCode::cancelled;
    options_.say(requests == 1 ? "stopping the runs in progress; press Ctrl-C again to cancel them"
                               : "cancelling the runs in progress");
  }

  void say_result() const {
    const std::size_t all = plan_.runs.size();
    std::string text = fmt::format("{} of {} runs are complete", complete_, all);
    if (failed_ > 0) text += fmt::format(", {} failed", failed_);
    if (stopped_ > 0) text += fmt::format(", {} stopped", stopped_);
    if (complete_ < all) text += "; resume with:\n  seam sweep --resume " + folder_.string();
    options_.say(text);
  }

  using Started = std::pair<std::size_t, std::chrono::steady_clock::time_point>;

  fs::path folder_;
  const SweepOptions& options_;
  ChildProcesses& children_;  // both are the caller's and outlive this
  SweepPlan plan_;
  std::vector<std::size_t> todo_;  ///< positions in the plan
  std::size_t next_ = 0;           ///< position in todo_
  std::vector<int> threads_;       ///< by slot
  std::vector<std::optional<Started>> slots_;
  std::size_t complete_ = 0;
  std::size_t failed_ = 0;
  std::size_t stopped_ = 0;
  std::size_t told_ = 0;
  bool stopping_ = false;
  ExitCode code_ = ExitCode::success;
};

}  // namespace

CheckedSweep check_sweep(const SweepRequest& request) {
  CheckedSweep sweep;
  std::set<decltype(identity_of({}))> reported;  // an error in the file occurs in every run
  const fs::file_status status = fs::status(request.file);
  if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status)) {
    refuse(
        "'{}' is a pipe or a device; a sweep reads the file once per run and needs a regular file",
        request.file.string());
  }
  const LoadedSweep table = load_sweep(request.file, request.set, request.environment);
  if (has_errors(table.problems)) {
    sweep.problems = table.problems;
    return sweep;
  }
  const std::unique_ptr<DescriptionCache> descriptions = user_descriptions();
  const auto prepare = [&](const PlannedRun& run) {
    LoadOptions options;
    options.file = request.file;
    options.variants = request.variants;
    options.overrides = request.set;
    apply_settings(run, options);
    options.plugin_paths = request.plugin_paths;
    options.environment = request.environment;
    options.descriptions = descriptions.get();
    return prepare_run(std::move(options), request.threads);
  };
  sweep.plan = plan_of(request, table.spec, table.variants, prepare);
  const std::vector<PlannedRun> all = std::exchange(sweep.plan.runs, {});
  const bool sharded = request.shard.of > 1;
  bool sound = true;
  std::map<std::pair<std::string, std::string>, std::string> written;
  std::string fingerprints;
  for (std::size_t at = 0; at < all.size(); ++at) {
    if (ChildProcesses::stop_pending()) throw Error("stopped; nothing was run", Fault::cancelled);
    const PlannedRun& run = all[at];
    PreparedRun prepared = prepare(run);
    if (sharded && prepared.loaded.pipeline) {
      fingerprints += fingerprint_of(*prepared.loaded.pipeline);
    }
    if (!request.shard.has(at, 1)) continue;  // another shard reports its errors
    sweep.plan.runs.push_back(run);
    for (Problem& problem : prepared.loaded.problems) {
      if (reported.insert(identity_of(problem)).second) {
        sweep.problems.push_back(std::move(problem));
      }
    }
    sound = sound && prepared.loaded.pipeline.has_value();
    if (!sound) continue;
    const CheckedPipeline& pipeline = *prepared.loaded.pipeline;
    refuse_shared_files(run, pipeline, request.shard, written);
    sweep.plan.name = pipeline.spec.name;
    sweep.plan.threads = prepared.threads;
    sweep.pipelines.push_back(pipeline.spec.resolved);
    for (const std::string& sentence : pipeline.missing_data)
      add_unless_present(sweep.missing_data, sentence);
  }
  if (sharded) sweep.plan.fingerprint = sha256(fingerprints);
  if (!sound) sweep.pipelines.clear();
  refuse_twins(sweep.plan.runs, sweep.pipelines);
  if (sound && !sweep.plan.runs.empty()) {  // reports it if it cannot be
    shared_out(sweep.plan.threads,
               std::min(request.jobs, static_cast<int>(sweep.plan.runs.size())));
  }
  return sweep;
}

fs::path create_sweep(const CheckedSweep& sweep, const fs::path& requested) {
  fs::path folder;
  if (requested.empty()) {
    folder = make_numbered_folder(sweep.plan.name + "-sweep");
  } else {
    folder = fs::absolute(requested).lexically_normal();
    fs::create_directories(folder);
    if (is_sweep_folder(folder)) {
      refuse("'{}' holds a sweep already; resume it with --resume, or name another folder",
             folder.string());
    }
    // Without sweep.json, `pipelines` was left behind by a process that was killed.
    const auto is_left_behind = [](const fs::directory_entry& entry) {
      const fs::path name = entry.path().filename();
      return name == "pipelines" || name == "sweep.json.part";
    };
    if (!std::ranges::all_of(fs::directory_iterator(folder), is_left_behind)) {
      refuse("'{}' is not empty; name a new or empty folder with --sweep-dir", folder.string());
    }
  }
  fs::create_directories(folder / "pipelines");
  for (std::size_t at = 0; at < sweep.plan.runs.size(); ++at) {
    write_whole_file(folder / "pipelines" / (sweep.plan.runs[at].name + ".toml"),
                     sweep.pipelines[at]);
  }
  write_plan(folder, sweep.plan);  // last: without it the folder is not a sweep
  return folder;
}

fs::path reopen_sweep(const CheckedSweep& sweep, const fs::path& folder) {
  bool same = read_plan(folder).runs == sweep.plan.runs;
  for (std::size_t at = 0; same && at < sweep.plan.runs.size(); ++at) {
    const fs::path file = folder / "pipelines" / (sweep.plan.runs[at].name + ".toml");
    same = read_text_file(file) == sweep.pipelines[at];
  }
  if (same) return folder;
  refuse(
      "the sweep in '{}' has other runs or pipelines; choose another folder, or continue that "
      "sweep with seam sweep --resume {}",
      folder.string(), folder.string());
}

void refuse_other_shards(const SweepPlan& plan, const fs::path& folder) {
  const fs::path out = folder.parent_path();
  if (!fs::is_directory(out)) return;
  const auto of = [](const fs::path& shard) {  // "-of-00003"
    const std::string name = shard.filename().string();
    return name.substr(std::min(name.find("-of-"), name.size()));
  };
  for (const fs::directory_entry& entry : fs::directory_iterator(out)) {
    const fs::path& other = entry.path();
    if (!other.filename().string().starts_with("part-") || !is_sweep_folder(other)) continue;
    if (other.filename() == folder.filename()) continue;
    const SweepPlan before = read_plan(other);
    std::string difference;
    if (!before.fingerprint.empty() && before.fingerprint != plan.fingerprint) {
      difference = "the contents of the pipeline file";
    }
    if (of(other) != of(folder)) difference = "the number of shards";
    if (before.over != plan.over) difference = "the axes (--over or [sweep])";
    if (before.random != plan.random) difference = "--random";
    if (plan.random && before.random_seed != plan.random_seed) difference = "--random-seed";
    if (before.set != plan.set) difference = "--set or --variant";
    if (before.file != plan.file) difference = "the pipeline file";
    if (difference.empty()) continue;
    refuse(
        "'{}' was planned differently: {}; the shards of one folder belong together: choose "
        "another --sweep-dir, or remove '{}'",
        other.string(), difference, out.string());
  }
}

ExitCode execute_sweep(const fs::path& folder, const SweepOptions& options,
                       ChildProcesses& children) {
  return Execution(fs::absolute(folder).lexically_normal(), options, children).run();
}

std::vector<int> shared_out(int threads, int jobs) {
  if (threads < jobs) {
    refuse("{} parallel runs need {} threads, but there are only {}; use --jobs {} or --threads {}",
           jobs, jobs, threads, threads, jobs);
  }
  std::vector<int> shares;
  for (int at = 0; at < jobs; ++at)
    shares.push_back(threads / jobs + (at < threads % jobs ? 1 : 0));
  return shares;
}

}  // namespace seam::host
