/// The scores of each observation of an evaluation, written into the run folder so that models can
/// be compared observation by observation (`seam compare --paired`). docs/scores.md describes the
/// format.
///
///     epoch,observation,cluster,none.r@1,none.mrr@50
///     23,list.txt:17 (img/a.jpg),id_0007,1,1
#pragma once

#include <seam/context.hpp>

namespace seam::stages {

/// One observation: a query, a pair.
struct Outcome {
  std::string observation;  ///< the same name in every run that evaluates it; empty: unnamed
  std::string cluster;  ///< observations that succeed and fail together, such as those of an item
  std::vector<std::optional<double>> values;  ///< one per metric; nullopt: left out of its mean
};

/// The name of a row, independent of its list's folder: "list.txt:17 (img/a.jpg)", with the row's
/// index if the list has no lines. Empty if its origin and index are unknown.
[[nodiscard]] std::string observation_name(const Packet& batch, std::size_t row);

/// Replaces `outcomes/FLOW.STAGE.csv` in the run folder, if there is one; each outcome has one
/// value per metric. If an observation has no name, or two have the same name, they cannot be
/// distinguished: the file is then removed, because it would belong to an earlier evaluation.
/// Throws seam::Error with the system's reason.
void write_outcomes(const std::vector<std::string>& metrics, const std::vector<Outcome>& outcomes,
                    const Context& context);

}  // namespace seam::stages
