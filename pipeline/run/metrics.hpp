/// Numbers that stages record, as reproducible lines.
///
///     stages, any thread ──► record ──► streams (stage, name) ──► flow ends ──► lines
///
/// Several threads record at once, so the order of calls differs between two runs. Lines are
/// therefore written when a flow has ended: stages in flow order, names in alphabetical order,
/// values in the order of recording. The values of a stage that runs on several threads are sorted
/// instead. A killed run repeats the flow anyway, so nothing is lost by waiting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pipeline/config/pipeline_spec.hpp"

namespace seam::host {

/// A number as in metrics.jsonl: the shortest text that reads back as the same number;
/// null for nan, 1e999 for infinity, which readers turn back into infinity.
std::string number_text(double number);
/// The shortest text that reads back as the same number; "nan" and "inf" for those.
std::string shortest_text(double number);

/// Adds the values in order, so that equal inputs give bit-identical results.
double mean(const std::vector<double>& values);

/// The mean of a metric over one run of a flow.
struct FlowMean {
  double value = 0;
  std::size_t count = 0;  ///< how often it was recorded
};
using FlowMeans = std::map<std::string, FlowMean>;  ///< by "stage.metric"

/// The values that a stage recorded under one name while a flow ran.
struct RecordedSeries {
  std::string stage;
  std::string name;
  std::vector<double> values;
  bool ordered = true;  ///< in the order of recording; false: recorded by several threads, sorted

  /// "stage.name"
  [[nodiscard]] std::string metric() const { return stage + "." + name; }
};

/// Their lines in metrics.jsonl, each {"epoch":,"flow":,"stage":,"name":,"step":,"value":}, and
/// "when":"before" or "after" for flows that run outside the epochs.
std::string metric_lines(const std::vector<RecordedSeries>& series, std::int64_t epoch,
                         const std::string& flow, std::string_view when = {});

class Metrics {
 public:
  /// From any thread.
  void record(std::string_view stage, std::string_view name, double value);

  /// A number for a progress line: the last "loss"; before the first one, the last value of any
  /// name.
  [[nodiscard]] std::optional<std::pair<std::string, double>> latest() const;

  /// Returns the values recorded since the last call, in the order of lines. `unordered`: stages
  /// that run on several threads. From now on, value() returns the means over this flow.
  std::vector<RecordedSeries> take(const std::vector<std::string>& stages,
                                   const std::vector<std::string>& unordered);
  /// Restores the means of a resumed run.
  void restore(std::map<std::string, double> means) { means_ = std::move(means); }

  using Stream = std::map<std::string, std::vector<double>, std::less<>>;  ///< by metric's name
  using Recorded = std::map<std::string, Stream, std::less<>>;             ///< by stage
  /// The values that these stages have recorded since the last take(); they must not be running.
  [[nodiscard]] Recorded recorded_by(const std::vector<std::string>& stages) const;
  /// Replaces the values recorded by these stages since then.
  void put_back(const std::vector<std::string>& stages, Recorded recorded);

  /// Names of the means that value() returns, for a run that resumes within an epoch.
  [[nodiscard]] std::vector<std::string> of_this_epoch() const;
  /// Marks the means with these names as measured in this epoch; after restore().
  void restore_epoch(const std::vector<std::string>& names);

  /// Discards the values of the previous epoch.
  void epoch_begins();
  /// The mean of "stage.name" over the last of this epoch's flows that recorded it.
  [[nodiscard]] std::optional<double> value(const std::string& name) const;
  /// The means of the values returned by the last take().
  [[nodiscard]] const FlowMeans& last_flow() const { return last_flow_; }
  /// The newest means of the whole run so far, by "stage.name".
  [[nodiscard]] const std::map<std::string, double>& means() const { return means_; }

 private:
  mutable std::mutex mutex_;  // of recorded_ and latest_; the rest belongs to one thread
  Recorded recorded_;
  std::optional<std::pair<std::string, double>> latest_;
  std::map<std::string, double> this_epoch_;
  std::map<std::string, double> means_;
  FlowMeans last_flow_;
};

}  // namespace seam::host
