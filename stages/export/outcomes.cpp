#include "stages/export/outcomes.hpp"

#include <system_error>
#include <unordered_set>

#include "stages/export/csv.hpp"
#include "stages/export/exported_file.hpp"
#include "stages/picture_paths.hpp"

namespace seam::stages {
namespace {

bool are_told_apart(const std::vector<Outcome>& outcomes) {
  std::unordered_set<std::string_view> names;
  for (const Outcome& outcome : outcomes) {
    if (outcome.observation.empty() || !names.insert(outcome.observation).second) return false;
  }
  return true;
}

}  // namespace

std::string observation_name(const Packet& batch, std::size_t row) {
  Origin origin;
  if (batch.has(field::origins) && row < batch[field::origins].size()) {
    origin = batch[field::origins][row];
  }
  std::string name;
  if (origin.file) name = std::filesystem::path(*origin.file).filename().string();
  if (origin.line > 0) {
    name += ":" + std::to_string(origin.line);
  } else if (has_index(batch, row)) {
    name += "#" + std::to_string(batch[field::indices][row]);
  }
  if (!origin.item.empty()) name += (name.empty() ? "(" : " (") + origin.item + ")";
  return name;
}

void write_outcomes(const std::vector<std::string>& metrics, const std::vector<Outcome>& outcomes,
                    const Context& context) {
  if (context.run_directory().empty()) return;
  const std::filesystem::path path =
      context.run_directory() / "outcomes" /
      (std::string(context.flow()) + "." + std::string(context.stage()) + ".csv");
  if (!are_told_apart(outcomes)) {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    context.debug("some observations have no name or share one, so '" + path.string() +
                  "' is not written");
    return;
  }
  ExportedFile file(path);
  std::vector<std::string> cells{"epoch", "observation", "cluster"};
  cells.insert(cells.end(), metrics.begin(), metrics.end());
  file.write(csv_line(cells));
  for (const Outcome& outcome : outcomes) {
    if (outcome.values.size() != metrics.size()) {
      throw Error("'" + outcome.observation + "' has " + std::to_string(outcome.values.size()) +
                      " values of " + std::to_string(metrics.size()) + " metrics",
                  Fault::internal);
    }
    cells = {std::to_string(context.epoch()), outcome.observation, outcome.cluster};
    for (const std::optional<double>& value : outcome.values) {
      cells.push_back(value ? csv_number(*value) : std::string());
    }
    file.write(csv_line(cells));
  }
  file.finish();
  file.commit();
}

}  // namespace seam::stages
