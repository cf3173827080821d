#include "pipeline/run/recorder.hpp"

#include <algorithm>
#include <fstream>
#include <utility>

#include "pipeline/run/clock.hpp"
#include "pipeline/text/json.hpp"

namespace seam::host {
namespace {

std::string timing_line(const FlowRecord& record, const FlowResult& result) {
  const double rate =
      result.seconds > 0 ? static_cast<double>(record.finished) / result.seconds : 0.0;
  return json_line({{"epoch", record.epoch},
                    {"flow", record.flow},
                    {"began", time_text(record.began)},
                    {"seconds", result.seconds},
                    {"images", record.finished},
                    {"images_per_second", rate},
                    {"compute_idle_seconds", result.compute_idle_seconds},
                    {"packets_peak", result.packets_peak},
                    {"bytes_peak", result.bytes_peak}}) +
         "\n";
}

std::string skipped_lines(const FlowRecord& record, const FlowResult& result) {
  std::string lines;
  for (const Failure& failure : result.failures) {
    lines += json_line({{"epoch", record.epoch},
                        {"flow", record.flow},
                        {"stage", failure.stage},
                        {"origin", failure.origin},
                        {"message", failure.message}}) +
             "\n";
  }
  if (result.skipped > result.failures.size()) {
    lines += json_line({{"epoch", record.epoch},
                        {"flow", record.flow},
                        {"not_listed", result.skipped - result.failures.size()}}) +
             "\n";
  }
  return lines;
}

}  // namespace

Recorder::Recorder(const RunDirectory& directory, const Sizes& sizes,
                   std::unique_ptr<TensorBoardLog> tensorboard)
    : metrics_(directory.metrics(), sizes.metrics),
      timing_(directory.timing(), sizes.timing),
      skipped_(directory.skipped(), sizes.skipped),
      tensorboard_(std::move(tensorboard)) {}

void Recorder::opened(Metrics& metrics, const std::vector<std::string>& stages) {
  const std::vector<RecordedSeries> series = metrics.take(stages, {});
  // The file of a resumed run already has the values that were recorded at its opening.
  if (metrics_.size() > 0) return;
  metrics_.append(metric_lines(series, 0, ""));
  if (tensorboard_) tensorboard_->opened(series);
}

std::optional<Error> Recorder::flow_ended(const FlowRecord& record, const FlowResult& result,
                                          Metrics& metrics) {
  std::optional<Error> first;
  const auto attempt = [&first](const auto& work) {
    try {
      work();
    } catch (const Error& error) {
      if (!first) first = error;
    }
  };
  const std::vector<RecordedSeries> series = metrics.take(record.stages, record.unordered);
  const std::string when = record.when.starts_with("epoch") ? std::string() : record.when;
  attempt([&] { metrics_.append(metric_lines(series, record.epoch, record.flow, when)); });
  attempt([&] { timing_.append(timing_line(record, result)); });
  if (result.skipped > 0) attempt([&] { skipped_.append(skipped_lines(record, result)); });
  if (tensorboard_) attempt([&] { tensorboard_->flow_ended(record, series, result); });
  return first;
}

Recorder::Sizes Recorder::sizes() const {
  return {metrics_.size(), timing_.size(), skipped_.size()};
}

void Recorder::checkpoint(const Checkpoint& checkpoint) {
  if (tensorboard_) tensorboard_->checkpoint(checkpoint);
  for (LineFile* file : {&metrics_, &timing_, &skipped_}) file->sync();
}

std::int64_t epochs_timed(const std::filesystem::path& timing) {
  std::int64_t ended = 0;
  std::ifstream lines(timing);
  for (std::string line; std::getline(lines, line);) {
    const Json json = try_parse_json(line);
    if (json.is_object() && json.contains("epoch") && json["epoch"].is_number_integer()) {
      ended = std::max(ended, json["epoch"].get<std::int64_t>());
    }
  }
  return ended;
}

}  // namespace seam::host
