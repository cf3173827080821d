/// Reads a metrics.jsonl that a Recorder wrote.
///
///     {"epoch":3,"flow":"train","stage":"loss","name":"loss","step":0,"value":0.5}  ──► MetricLine
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>

namespace seam::host {

/// A value that a stage recorded; the values of a metric in a flow are in the order of their steps.
struct MetricLine {
  std::int64_t epoch = 0;  ///< from 0
  std::string flow;
  std::string stage;
  std::string name;
  std::uint64_t step = 0;  ///< from 0 for each metric in each run of the flow
  double value = 0;        ///< may be NaN or infinite
  std::string when;        ///< "before", "after"; empty: in the epochs

  /// "stage.name"
  [[nodiscard]] std::string metric() const { return stage + "." + name; }
};

/// Whether the last line is complete; a process may be writing it, or was killed meanwhile.
enum class LastLine : std::uint8_t { whole, incomplete };

constexpr std::uint64_t all_of_it = std::numeric_limits<std::uint64_t>::max();

/// Calls `take` for each complete line in the first `size` bytes. Throws seam::Error (data) if the
/// file cannot be read, is shorter than `size`, has no line break there, or has an invalid line.
LastLine read_metrics(const std::filesystem::path& file,
                      const std::function<void(MetricLine&&)>& take,
                      std::uint64_t size = all_of_it);

}  // namespace seam::host
