/// A comparison for people, for spreadsheets and for programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pipeline/experiments/comparison.hpp"

namespace seam::host {

/// For each parameter its short name ("margin") if that is unique, otherwise the whole key.
std::vector<std::string> titles_of(const Parameters& parameters);

/// The sentence about values of WhichEpoch::best.
inline constexpr const char* best_epoch_note =
    "the best epoch was selected on the evaluation data itself, so these values are biased upwards";

/// Tables fitted to the width; none: any width.
std::string to_text(const Comparison& comparison, std::optional<std::size_t> width);
/// One row per group, RFC 4180.
std::string to_csv(const Comparison& comparison);
std::string to_json(const Comparison& comparison);

}  // namespace seam::host
