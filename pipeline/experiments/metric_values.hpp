/// The results of a run: its headline metrics (score.json) and their values over the epochs
/// (metrics.jsonl).
///
///     score.json     ──► metric, which direction is better, flow, protocol
///     metrics.jsonl  ──► one value per run of the flow: the mean over its steps
///                                           └► of the last epoch, or of the best
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/run/scores.hpp"

namespace seam::host {

/// The metrics in score.json, the most important first; empty if there is no such file. Throws
/// seam::Error (data) if it cannot be read or has a different format.
std::vector<Score> read_headlines(const std::filesystem::path& run);

enum class WhichEpoch : std::uint8_t { last, best };

struct MetricValue {
  std::int64_t epoch = 0;  ///< from 0
  std::string flow;
  std::string when;  ///< "before", "after" or empty: in the epochs
  double value = 0;  ///< may be NaN or infinite, as recorded
};

/// One value for each time that a flow recorded it, in the order of the file. `metric` is
/// STAGE.METRIC. Throws seam::Error (data) if the file cannot be read.
std::vector<MetricValue> read_metric(const std::filesystem::path& run, const std::string& metric);
/// The parts of [FLOW:]STAGE.METRIC; no flow: an empty one.
std::pair<std::string, std::string> flow_and_metric(const std::string& text);

/// The names of all metrics of a run, in the order of their first value.
std::vector<std::string> metric_names(const std::filesystem::path& run);

/// The value to compare; nullopt if none was recorded. If several flows record the metric, only
/// `flow` counts; if it is empty, throws seam::Error (configuration) with their names. NaN is never
/// the best.
std::optional<MetricValue> choose_value(const std::vector<MetricValue>& values,
                                        const std::string& metric, const std::string& flow,
                                        WhichEpoch which, Better better);

/// Whether the last values in metrics.jsonl are not those of `scores`, so that it was truncated.
/// `scores`: read_headlines() of the run. Throws seam::Error (data) if the file cannot be read.
bool is_cut(const std::filesystem::path& run, const std::vector<Score>& scores);

}  // namespace seam::host
