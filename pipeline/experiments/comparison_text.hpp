/// A comparison for people, for papers, for spreadsheets and for programs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "pipeline/experiments/comparison.hpp"

namespace seam::host {

/// The sentence about values of WhichEpoch::best.
inline constexpr const char* best_epoch_note =
    "the best epoch was selected on the evaluation data itself, so these values are biased upwards";

/// "of 3 pairs" if the group's difference to the best is based on fewer pairs than there are runs;
/// otherwise empty. `best_size`: runs of the best group.
[[nodiscard]] std::string pairs_text(const Group& group, std::size_t best_size);

/// Tables fitted to the width; none: any width.
std::string to_text(const Comparison& comparison, std::optional<std::size_t> width);
/// One row per group, RFC 4180.
std::string to_csv(const Comparison& comparison);
std::string to_json(const Comparison& comparison);
/// One table per ranking: means with their standard errors, and differences to the best with their
/// 95 % intervals.
///
///     | margin | runs | recall.none.r@1 | to the best |       \begin{tabular}{lrrl}
///     |---|---:|---:|---|                                    margin & runs & ...
///     | 0.5 | 3 | 0.631 ± 0.007 | |                          0.5 & 3 & ...
std::string to_markdown(const Comparison& comparison);
/// The same for LaTeX, with the rules of the package booktabs.
std::string to_latex(const Comparison& comparison);

}  // namespace seam::host
