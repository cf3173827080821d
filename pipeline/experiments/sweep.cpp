#include "pipeline/experiments/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <utility>

#include "pipeline/experiments/run_list.hpp"
#include "pipeline/run/clock.hpp"
#include "pipeline/run/files.hpp"
#include "pipeline/run/run_directory.hpp"
#include "pipeline/text/refuse.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace fs = std::filesystem;
namespace {

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
