/// The file names of a run's checkpoints, in their order.
///
///     epoch-3.safetensors                 after three epochs
///     epoch-3-flow-1.safetensors          and the first flow of the fourth
///     epoch-3-flow-1-step-500.safetensors and 500 steps of its second flow
///     epoch-3-after.safetensors           after the third and last epoch and the flows of `after`
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "pipeline/run/schedule.hpp"

namespace seam::host {

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

[[nodiscard]] std::string to_text(const CheckpointName& name);
/// Returns nullopt for other names.
[[nodiscard]] std::optional<CheckpointName> checkpoint_name(std::string_view file_name);

}  // namespace seam::host
