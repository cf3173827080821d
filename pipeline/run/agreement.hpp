/// The agreements of ranks (seam::Ranks): to compute the same, and when to stop.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "pipeline/graph/flow.hpp"
#include "seam/ranks.hpp"

namespace seam::host {

/// Names and values that must be the same on all ranks.
using Terms = std::vector<std::pair<std::string, std::string>>;

/// Throws seam::Error (configuration), on all ranks, that names the first rank with other values
/// than rank 0 and lists them.
void agree_on(const Terms& terms, Ranks& ranks);

/// Whether one of the ranks was asked to stop. All ranks ask at the same places.
class AgreedStop {
 public:
  /// Both outlive this object.
  AgreedStop(Ranks& ranks, const StopState& stop) : ranks_(ranks), stop_(stop) {}

  /// Once true, it remains so.
  [[nodiscard]] bool requested();

 private:
  Ranks& ranks_;
  const StopState& stop_;
  bool agreed_ = false;
};

}  // namespace seam::host
