/// Stage `loss.triplet`: how much closer positives must come than negatives.
#pragma once

#include <seam/tensor.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "stages/loss/triplet_loss.hpp"

namespace seam::stages {

/// Has no weights, but reports only batches that the optimizer accepts: a skipped one must not be
/// in the mean of the loss.
class Triplet final : public Compute<Transform>, public Trainable {
 public:
  static constexpr std::string_view name = "loss.triplet";

  void declare(Declaration& d) override;
  void begin(Context& context) override;
  void process(Packet& packet, Context& context) override;
  void end(Context& context) override;

  std::vector<NamedWeight> weights() override { return {}; }
  void batch_accepted() override;

 private:
  void report_accepted(const Context& context);

  double margin_ = 2.0;
  std::optional<TripletLoss> processed_;  // of the last training batch
  std::optional<TripletLoss> accepted_;   // the same, once it may be reported
};

/// Rows of the batch by role, in order of their groups' first rows.
struct TripletRows {
  std::vector<std::int64_t> anchors;
  std::vector<std::int64_t> positives;
  std::vector<std::int64_t> negatives;
};

/// Throws seam::Error naming the group that is no triplet: not exactly one of each role.
[[nodiscard]] TripletRows triplet_rows(const std::vector<std::int64_t>& groups,
                                       const std::vector<Role>& roles);

}  // namespace seam::stages
