#include "pipeline/cli/ranked_run.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <map>
#include <mutex>
#include <optional>
#include <streambuf>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/cli/loading.hpp"
#include "pipeline/experiments/run_folder.hpp"
#include "pipeline/graph/plan.hpp"
#include "pipeline/run/agreement.hpp"
#include "pipeline/run/checkpoint.hpp"
#include "pipeline/run/data_files.hpp"
#include "pipeline/run/rank_folder.hpp"
#include "pipeline/run/schedule.hpp"
#include "pipeline/text/refuse.hpp"

namespace seam::host {
namespace {

/// Keeps what threads write.
class KeptText final : public std::streambuf {
 public:
  [[nodiscard]] std::string text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 protected:
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    const std::lock_guard lock(mutex_);
    text_.append(text, static_cast<std::size_t>(size));
    return size;
  }
  int_type overflow(int_type letter) override {
    const std::lock_guard lock(mutex_);
    if (letter != traits_type::eof()) text_ += traits_type::to_char_type(letter);
    return 0;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

/// Standard output and standard error of a rank that prints nothing.
class Muted {
 public:
  Muted() : out_(std::cout.rdbuf(&outputs_)), errors_before_(std::cerr.rdbuf(&errors_)) {}
  ~Muted() {
    std::cout.rdbuf(out_);
    std::cerr.rdbuf(errors_before_);
  }
  Muted& operator=(Muted&&) = delete;  // not copyable

  [[nodiscard]] std::string errors() const {
    std::string text = errors_.text();
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }

 private:
  KeptText outputs_;
  KeptText errors_;
  std::streambuf* out_;
  std::streambuf* errors_before_;
};

/// How the run starts, and from what.
std::string start_text(const RunArguments& arguments) {
  if (arguments.resume.empty()) {
    return arguments.from.empty() ? "a new run" : "a new run from '" + arguments.from + "'";
  }
  const auto files =
      CheckpointFolder(std::filesystem::path(arguments.resume) / "checkpoints").files();
  return fmt::format("the run in '{}' continues from {}", arguments.resume,
                     files.empty() ? "its beginning" : files.front().filename().string());
}

Fault fault_of(ExitCode code) {
  for (const Fault fault : {Fault::configuration, Fault::data, Fault::cancelled}) {
    if (code == exit_code_of(fault)) return fault;
  }
  return Fault::internal;
}

/// `made`: for a rank other than the first.
ExitCode run_there(RunArguments arguments, Ranks& ranks, std::optional<RankFolder>& made,
                   const std::function<ExitCode(RunArguments)>& run) {
  if (!arguments.evaluate.empty() || arguments.headspace) {
    refuse(
        "only `seam run FILE` is shared out among ranks, and this process is one of {}; start it "
        "without mpirun or srun",
        ranks.world());
  }
  if (arguments.resume_if_present && is_run_folder(arguments.run_directory)) {
    arguments.resume = arguments.run_directory;
  }
  const std::string start = start_text(arguments);
  if (ranks.rank() > 0) {
    made.emplace();
    arguments.run_directory =
        (arguments.resume.empty() ? made->empty() : made->copy_of(arguments.resume)).string();
    if (!arguments.resume.empty()) arguments.resume = arguments.run_directory;
    arguments.trace.clear();
    arguments.quiet = true;
    arguments.json = false;
  }
  // Before it, no rank changes the run folder.
  agree_on({{"the start", start}}, ranks);
  return run(std::move(arguments));
}

}  // namespace

ExitCode run_as_rank(RunArguments arguments, Ranks& ranks,
                     const std::function<ExitCode(RunArguments)>& run) {
  const int stopped_code = arguments.stopped_code;
  std::optional<Muted> muted;
  if (ranks.rank() > 0) muted.emplace();
  std::optional<RankFolder> folder;
  std::optional<Error> error;
  ExitCode code = ExitCode::success;
  try {
    code = run_there(std::move(arguments), ranks, folder, run);
  } catch (const Error& thrown) {
    error = thrown;
  } catch (const std::filesystem::filesystem_error& thrown) {
    error = Error(thrown.what(), Fault::data);
  } catch (const std::exception&) {
    error = caught_error();
  }
  if (error) code = report_error(*error);
  const bool failed =
      error || (code != ExitCode::success && static_cast<int>(code) != stopped_code);
  if (!failed || ranks.parted()) return code;
  if (!error) error = Error(muted ? muted->errors() : "see its messages", fault_of(code));
  if (ranks.fail(*error)) return code;
  const std::string messages = muted ? muted->errors() : std::string();
  muted.reset();
  if (!messages.empty()) std::cerr << "rank " << ranks.rank() << ": " << messages << std::endl;
  folder.reset();
  ranks.abort(static_cast<int>(code));
  return code;  // for compilers that do not see that it never returns
}

namespace {

/// Ranks exchange bytes in the order of their steps.
void refuse_steps_without_order(const CheckedPipeline& pipeline) {
  std::map<std::string, StageSpec> specs;
  for (const StageSpec& stage : pipeline.spec.stages) specs.emplace(stage.name, stage);
  for (const std::string& name : scheduled_flows(pipeline.spec.schedule)) {
    const FlowSpec& flow = flow_named(pipeline.spec, name);
    const std::vector<StageRunner*> runners = runners_of(flow, pipeline.stages);
    if (numberings_of_step(flow, plan_of(flow, runners, specs)).size() < 2) continue;
    refuse(
        "ranks cannot share flow '{}': batches of several sources or collectors enter its training "
        "step, in an order that depends on timing; put them into separate flows",
        name);
  }
}

}  // namespace

void refuse_unless_shareable(const CheckedPipeline& pipeline, const Ranks& ranks) {
  const std::int64_t lanes = pipeline.spec.lanes.count;
  if (lanes < ranks.world()) {
    refuse(
        "{} ranks were started, but [pipeline] has lanes = {}: ranks share out the lanes of "
        "networks; set `lanes` to {} or a multiple of it, or start fewer ranks",
        ranks.world(), lanes, ranks.world());
  }
  refuse_steps_without_order(pipeline);
  for (const WrittenElsewhere& outside : written_elsewhere(pipeline)) {
    refuse(
        "stage '{}' may write to '{}', and all ranks would do so at once; use a path relative to "
        "the run folder: --set {}=FOLDER",
        outside.stage, outside.path, outside.key);
  }
}

}  // namespace seam::host
