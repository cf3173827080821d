/// File names of a run's checkpoints, and the keys of their metadata that are read outside the run:
/// pipeline/run writes checkpoints, weights.cpp reads weights from them.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>

namespace seam::checkpoint_format {

inline constexpr const char* version_key = "seam.checkpoint";
inline constexpr const char* stages_key = "seam.stages";
inline constexpr const char* best_key = "seam.best";
inline constexpr const char* best_by_key = "seam.best_by";
inline constexpr const char* chosen_key = "seam.chosen";
inline constexpr const char* classes_key = "seam.classes";
inline constexpr const char* epochs_key = "seam.run.epochs_done";
/// The number of training flows that the run had completed.
inline constexpr const char* trainings_key = "seam.run.trainings";

}  // namespace seam::checkpoint_format

namespace seam::host {

/// The file name of a checkpoint:
///
///     epoch-3.safetensors                 after three epochs
///     epoch-3-flow-1.safetensors          and the first flow of the fourth
///     epoch-3-flow-1-step-500.safetensors and 500 steps of its second flow
///     epoch-3-after.safetensors           after the third and last epoch and the flows of `after`
struct CheckpointName {
  std::int64_t epochs = 0;
  std::int64_t flows = 0;
  std::uint64_t steps = 0;
  bool after = false;

  /// Older checkpoints come first.
  friend bool operator<(const CheckpointName& a, const CheckpointName& b) {
    return std::tie(a.epochs, a.after, a.flows, a.steps) <
           std::tie(b.epochs, b.after, b.flows, b.steps);
  }
  friend bool operator==(const CheckpointName&, const CheckpointName&) = default;
  [[nodiscard]] bool is_within_epoch() const { return flows > 0 || steps > 0; }
};

[[nodiscard]] inline std::string to_text(const CheckpointName& name) {
  std::string text = "epoch-" + std::to_string(name.epochs);
  if (name.after) return text + "-after.safetensors";
  if (name.flows > 0) text += "-flow-" + std::to_string(name.flows);
  if (name.steps > 0) text += "-step-" + std::to_string(name.steps);
  return text + ".safetensors";
}

/// Removes a mark and the number after it from the beginning of the text. Returns false and leaves
/// the text unchanged if there is none, or if to_text() would write the number differently.
template <class Number>
bool take_number(std::string_view& text, std::string_view mark, Number& number) {
  if (!text.starts_with(mark)) return false;
  const char* const first = text.data() + mark.size();
  const char* const last = text.data() + text.size();
  Number value = 0;
  const auto [end, error] = std::from_chars(first, last, value);
  if (error != std::errc() || value < 0) return false;
  if (std::to_string(value).size() != static_cast<std::size_t>(end - first)) return false;
  number = value;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

/// Returns nullopt for other names.
[[nodiscard]] inline std::optional<CheckpointName> checkpoint_name(std::string_view file_name) {
  constexpr std::string_view after_mark = "-after";
  CheckpointName name;
  if (!take_number(file_name, "epoch-", name.epochs)) return std::nullopt;
  if (file_name.starts_with(after_mark)) {
    name.after = true;
    file_name.remove_prefix(after_mark.size());
  }
  take_number(file_name, "-flow-", name.flows);
  take_number(file_name, "-step-", name.steps);
  if (file_name != ".safetensors" || (name.after && name.is_within_epoch())) return std::nullopt;
  return name;
}

}  // namespace seam::host
