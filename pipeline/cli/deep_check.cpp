#include "pipeline/cli/deep_check.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <set>
#include <sstream>

#include "pipeline/cli/data_flows.hpp"
#include "pipeline/cli/loading.hpp"
#include "pipeline/cli/trial.hpp"
#include "pipeline/run/clock.hpp"
#include "pipeline/run/run.hpp"
#include "pipeline/text/count.hpp"
#include "pipeline/text/json.hpp"

namespace seam::host {
namespace {

/// Packets that were prepared for the batches, such as decoded images.
std::uint64_t prepared_packets(const RunSummary& summary) {
  std::uint64_t sum = 0;
  for (const FlowTotal& flow : summary.flows) {
    std::uint64_t most = 0;
    for (const StageCount& count : flow.stages) {
      if (count.kind == StageKind::parallel_transform) most = std::max(most, count.received);
    }
    sum += most;
  }
  return sum;
}

std::string cost_text(const RunSummary& summary) {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  std::string text =
      fmt::format("one batch through each of {} in {}: {} prepared, at most {} MiB of memory",
                  counted(summary.flows.size(), "flow"), duration_text(summary.seconds),
                  packets_text(prepared_packets(summary)), usage.ru_maxrss / 1024);
  if (summary.skipped_packets > 0) {
    text += fmt::format("; on_error = \"skip\" skipped {}", packets_text(summary.skipped_packets));
  }
  return text;
}

/// Prints each unusable image once, as "data/a.jpg:3: it is not a picture (in decode)".
std::size_t print_unusable(const std::filesystem::path& skipped) {
  std::set<std::string> seen;
  std::ifstream lines(skipped);
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line);
    if (json.contains("not_listed")) {
      std::cerr << "and " << json.at("not_listed") << " more\n";
      continue;
    }
    const std::string text =
        fmt::format("{}: {} (in {})", json.at("origin").get<std::string>(),
                    json.at("message").get<std::string>(), json.at("stage").get<std::string>());
    if (seen.insert(text).second) std::cerr << text << "\n";
  }
  return seen.size();
}

}  // namespace

DeepCheck::DeepCheck()
    : signals_(
          stop_, std::nullopt, static_cast<int>(ExitCode::cancelled), [](StopNotice /*notice*/) {},
          [] {}) {}

CategoryCount DeepCheck::count_categories() const {
  return [count = category_count(nullptr, &stop_)](StageRunner& data) -> std::int64_t {
    try {
      return count(data);
    } catch (const Error&) {
      return 0;
    }
  };
}

ExitCode DeepCheck::check(const std::string& file, CheckedPipeline& pipeline, int threads) {
  if (!pipeline.missing_data.empty()) {
    return report_error(missing_data_error("--deep cannot open the stages", pipeline.missing_data));
  }
  try {
    refuse_writing_elsewhere(pipeline, "--deep");
  } catch (const Error& error) {
    return report_error(error);
  }
  const ScratchFolder folder;
  pipeline.spec.schedule.epochs = 1;
  RunOptions options = trial_options(pipeline, folder, threads, stop_);
  options.extent = Extent::first_batch;
  std::ostringstream tables;  // not shown: the tables of one batch mean nothing
  Display display(tables, std::cerr, Display::Style::quiet);
  const RunSummary summary = run_pipeline(pipeline, options, display);
  if (summary.error) return report_error(*summary.error);
  if (summary.code == ExitCode::success) {
    std::cout << file << ": " << cost_text(summary) << std::endl;
  }
  return summary.code;
}

ExitCode DeepCheck::check_data(const std::string& file, CheckedPipeline& pipeline, int threads) {
  if (!pipeline.missing_data.empty()) {
    return report_error(missing_data_error("--data cannot read the data", pipeline.missing_data));
  }
  PipelineSpec& spec = pipeline.spec;
  spec.flows = data_flows(pipeline);
  spec.schedule = ScheduleSpec();
  for (const FlowSpec& flow : spec.flows) spec.schedule.each_epoch.push_back({flow.name, 1});
  spec.tensorboard.reset();
  spec.max_errors.reset();
  spec.max_error_share.reset();
  for (StageSpec& stage : spec.stages) {
    if (pipeline.stages.at(stage.name)->kind() != StageKind::source) stage.on_error = OnError::skip;
  }
  if (spec.flows.empty()) {
    std::cout << file << ": no stage prepares images" << std::endl;
    return ExitCode::success;
  }
  const ScratchFolder folder;
  const RunOptions options = trial_options(pipeline, folder, threads, stop_);
  std::ostringstream tables;
  Display display(tables, std::cerr, Display::Style::quiet);
  const RunSummary summary = run_pipeline(pipeline, options, display);
  if (summary.error) return report_error(*summary.error);
  if (summary.code != ExitCode::success) return summary.code;
  const std::size_t unusable = print_unusable(options.run_directory / "skipped.jsonl");
  std::uint64_t packets = 0;
  for (const FlowTotal& flow : summary.flows) packets += flow.stages.front().emitted;
  std::cout << fmt::format(
                   "{}: {} prepared in {}: {}", file, packets_text(packets),
                   duration_text(summary.seconds),
                   unusable == 0 ? std::string("all can be used") : counted(unusable, "problem"))
            << std::endl;
  return unusable == 0 ? ExitCode::success : ExitCode::data;
}

}  // namespace seam::host
