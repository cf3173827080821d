/// What a run reached: the metrics by which it is judged (score.json) and their values over the
/// epochs (metrics.jsonl).
///
///     score.json     ──► metric, which direction is better, flow, protocol
///     metrics.jsonl  ──► a value each time the flow ran: the mean over its steps
///                                           └► of the last epoch, or of the best
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/run/scores.hpp"

namespace seam::host {

/// Those of score.json, the most important first; empty where the folder has none. Throws
/// seam::Error (data) where it cannot be read, or is of another format.
std::vector<Score> read_headlines(const std::filesystem::path& run);

enum class WhichEpoch : std::uint8_t { last, best };

struct MetricValue {
  std::int64_t epoch = 0;  ///< from 0
  std::string flow;
  std::string when;  ///< "before", "after" or empty: in the epochs
  double value = 0;  ///< may be NaN or infinite, as recorded
};

/// A value for each time that a flow recorded it, in the order of the file. `metric` is
/// STAGE.METRIC. Throws seam::Error (data) where the file cannot be read.
std::vector<MetricValue> read_metric(const std::filesystem::path& run, const std::string& metric);
/// The names of all metrics of a run, in the order of their first value.
std::vector<std::string> metric_names(const std::filesystem::path& run);

/// The value that counts. None: nothing was recorded. Of several flows that record the metric only
/// `flow` counts; where it is empty, throws seam::Error (configuration) that names them. NaN is
/// never the best.
std::optional<MetricValue> choose_value(const std::vector<MetricValue>& values,
                                        const std::string& metric, const std::string& flow,
                                        WhichEpoch which, Better better);

/// Whether score.json has a later value: metrics.jsonl has lost its end.
bool is_cut(const std::vector<Score>& scores, const std::string& metric, const MetricValue& last);

}  // namespace seam::host
