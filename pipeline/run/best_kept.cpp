#include "pipeline/run/best_kept.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/run/checkpoint_name.hpp"
#include "pipeline/run/metrics.hpp"
#include "pipeline/run/metrics_file.hpp"

namespace seam::host {
namespace {

/// The metric's values in the last of each epoch's flows that recorded it.
std::map<std::int64_t, std::vector<double>> values_by_epoch(const std::string& metric,
                                                            const std::filesystem::path& file,
                                                            std::uint64_t size) {
  std::map<std::int64_t, std::vector<double>> values;
  read_metrics(
      file,
      [&](MetricLine&& line) {
        if (!line.when.empty() || line.flow.empty() || line.metric() != metric) return;
        if (line.step == 0) values[line.epoch].clear();
        values[line.epoch].push_back(line.value);
      },
      size);
  return values;
}

}  // namespace

std::optional<BestKept> best_kept(const KeepRule& rule, std::optional<BestKept> before,
                                  const std::filesystem::path& checkpoints,
                                  const std::filesystem::path& metrics, std::uint64_t size) {
  if (rule.best.empty()) return std::nullopt;
  const auto is_there = [&](std::int64_t epochs) {
    return std::filesystem::exists(checkpoints / to_text(CheckpointName{epochs, 0, 0}));
  };
  // Select again, because the direction may have changed; the previous best is among the files.
  SchedulePosition position;
  for (const auto& [epoch, values] : values_by_epoch(rule.best, metrics, size)) {
    position.epochs_done = epoch + 1;
    if (is_there(position.epochs_done)) note_kept(rule, mean(values), position);
  }
  const bool stands = before && before->metric == rule.best && is_there(before->epochs);
  if (!position.best_kept && stands) return before;
  return std::move(position.best_kept);
}

}  // namespace seam::host
