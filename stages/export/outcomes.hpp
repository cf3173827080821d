/// What each observation of an evaluation scored, left in the run's folder, so that models can be
/// compared observation by observation (`seam compare --paired`). docs/scores.md has the format.
///
///     epoch,observation,cluster,none.r@1,none.mrr@50
///     23,list.txt:17 (img/a.jpg),id_0007,1,1
#pragma once

#include <cstddef>
#include <optional>
#include <seam/context.hpp>
#include <seam/packet.hpp>
#include <string>
#include <vector>

namespace seam::stages {

/// One observation: a query, a pair.
struct Outcome {
  std::string observation;  ///< the same in every run that measures it; empty: it has no name
  std::string cluster;      ///< of those that succeed and fail together, such as an item's
  std::vector<std::optional<double>> values;  ///< by metric; none: left out of its mean
};

/// What a row is called wherever its list lies: "list.txt:17 (img/a.jpg)", with the row's index
/// where the list has no lines. Empty where its origin and index are not known.
[[nodiscard]] std::string observation_name(const Packet& batch, std::size_t row);

/// Replaces `outcomes/FLOW.STAGE.csv` in the run's folder, if it keeps one; each outcome has as
/// many values as there are metrics. Where an observation has no name, or two have one, they cannot
/// be told apart: the file is removed, since it would be that of an earlier evaluation. Throws
/// seam::Error with the system's reason.
void write_outcomes(const std::vector<std::string>& metrics, const std::vector<Outcome>& outcomes,
                    const Context& context);

}  // namespace seam::stages
