/// A comparison as a table for a paper or a page.
///
///     | margin | runs | recall.none.r@1 | to the best |       \begin{tabular}{lrrl}
///     |---|---:|---:|---|                                    margin & runs & ...
///     | 0.5 | 3 | 0.631 ± 0.007 | |                          0.5 & 3 & ...
///
/// Means with their standard errors, and differences to the best with their 95 % intervals.
#pragma once

#include <string>

#include "pipeline/experiments/comparison.hpp"

namespace seam::host {

/// One table per ranking.
std::string to_markdown(const Comparison& comparison);
/// The same for LaTeX, with the rules of the package booktabs.
std::string to_latex(const Comparison& comparison);

}  // namespace seam::host
