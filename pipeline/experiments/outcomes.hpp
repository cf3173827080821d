/// The score of each observation in the newest evaluation of a flow: the file
/// outcomes/FLOW.STAGE.csv that a stage writes to the run folder.
///
///     epoch,observation,cluster,none.r@1,none.mrr@50
///     23,list.txt:17 (img/a.jpg),id_0007,1,1
///     23,list.txt:18 (img/b.jpg),id_0007,0,0.25        an empty cell: not part of the mean
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace seam::host {

struct Outcome {
  std::string cluster;          ///< observations that succeed and fail together, such as an item's
  std::optional<double> value;  ///< none: left out of the mean

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

/// By observation.
using Outcomes = std::map<std::string, Outcome>;

[[nodiscard]] std::filesystem::path outcome_file(const std::filesystem::path& run,
                                                 const std::string& flow, const std::string& stage);

/// A metric as a run recorded it.
struct RecordedValue {
  std::string name;  ///< without its stage: "none.r@1"
  double value = 0;
  std::int64_t epoch = 0;  ///< from 0
};

/// Reads the column of the metric. Throws seam::Error (data) if the file or column does not exist,
/// its epoch or mean differs from the recorded value, an observation occurs twice, or a line is
/// invalid.
[[nodiscard]] Outcomes read_outcomes(const std::filesystem::path& file,
                                     const RecordedValue& recorded);

}  // namespace seam::host
