/// Reads the records in a run folder. No plugin is loaded and no data set is needed, so the folder
/// may come from another machine, and the run may still be in progress.
///
///     resolved.toml, metrics.jsonl, timing.jsonl, summary.json, score.json, reports/ ──► RunRecord
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/config/parameters.hpp"
#include "pipeline/report/settings_table.hpp"
#include "pipeline/run/run_directory.hpp"
#include "pipeline/text/json.hpp"

namespace seam::host {

struct MetricPoint {
  std::int64_t epoch = 0;
  double value = 0;  ///< may be nan or infinite

  friend bool operator==(const MetricPoint&, const MetricPoint&) = default;
};

/// The values that a stage recorded under one name in one flow.
struct MetricSeries {
  std::string flow;
  std::string stage;
  std::string name;
  std::string when;                 ///< "before", "after"; empty: in the epochs
  std::vector<MetricPoint> points;  ///< in the order of the file
};

/// The latest text that a stage reported under one title in one flow.
struct ReportText {
  std::string name;    ///< file name without the moment: "evaluate-recall-recall-k"
  std::string moment;  ///< "before", "epoch-0003", "after"
  std::string text;    ///< Markdown
};

struct RunRecord {
  std::filesystem::path folder;
  Launch launch;
  std::vector<Setting> settings;
  Parameters parameters;
  std::vector<MetricSeries> metrics;  ///< in the order of their first lines
  std::vector<Json> timing;           ///< one run of a flow each
  std::optional<Json> summary;        ///< none: the run is in progress or was killed
  std::vector<Json> scores;           ///< of score.json; empty if the run has none
  std::vector<ReportText> reports;
  std::vector<std::string> notes;  ///< remarks on the files for the reader
};

/// Throws seam::Error: configuration if the folder is not a run folder, data with name and line if
/// a file in it cannot be read.
RunRecord read_record(const std::filesystem::path& folder);

}  // namespace seam::host
