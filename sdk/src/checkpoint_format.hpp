/// File names of a run's checkpoints, and the keys of their metadata that are read outside the run:
/// pipeline/run writes checkpoints, weights.cpp reads weights from them.
#pragma once

#include <charconv>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace seam::checkpoint_format {

inline constexpr const char* version_key = "seam.checkpoint";
inline constexpr const char* stages_key = "seam.stages";
inline constexpr const char* best_key = "seam.best";
inline constexpr const char* best_by_key = "seam.best_by";
inline constexpr const char* chosen_key = "seam.chosen";
inline constexpr const char* classes_key = "seam.classes";
/// The number of training flows that the run had completed.
inline constexpr const char* trainings_key = "seam.run.trainings";

inline constexpr std::string_view name_begin = "epoch-";
inline constexpr std::string_view name_end = ".safetensors";
inline constexpr std::string_view after_mark = "-after";

/// "epoch-12.safetensors"
[[nodiscard]] inline std::string file_name(std::int64_t epochs) {
  return std::string(name_begin) + std::to_string(epochs) + std::string(name_end);
}

/// 12 for "epoch-12.safetensors"; nullopt for other names.
[[nodiscard]] inline std::optional<std::int64_t> epochs_of(
    std::string_view name, std::string_view end_of_name = name_end) {
  if (!name.starts_with(name_begin) || !name.ends_with(end_of_name)) return std::nullopt;
  const char* const first = name.data() + name_begin.size();
  const char* const last = name.data() + name.size() - end_of_name.size();
  std::int64_t epochs = 0;
  const auto [end, error] = std::from_chars(first, last, epochs);
  if (error != std::errc() || end != last || epochs < 0) return std::nullopt;
  return epochs;
}

/// A checkpoint between two epochs, or after the flows of `after`; older ones compare less.
struct WholeEpochs {
  std::int64_t epochs = 0;
  bool after = false;

  friend auto operator<=>(const WholeEpochs&, const WholeEpochs&) = default;
};

/// {12, true} for "epoch-12-after.safetensors"; nullopt for files within an epoch and other names.
[[nodiscard]] inline std::optional<WholeEpochs> whole_epochs_of(std::string_view name) {
  if (const auto epochs = epochs_of(name)) return WholeEpochs{*epochs, false};
  const auto epochs = epochs_of(name, std::string(after_mark) + std::string(name_end));
  return epochs ? std::optional(WholeEpochs{*epochs, true}) : std::nullopt;
}

}  // namespace seam::checkpoint_format
