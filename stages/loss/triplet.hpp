/// Stage `loss.triplet`: positives must be closer than negatives by a margin.
#pragma once

#include <seam/loss.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace seam::stages {

class Triplet final : public Loss {
 public:
  static constexpr std::string_view name = "loss.triplet";

  void declare(Declaration& d) override;
  void open(Context& context) override;

 private:
  enum class Form : std::uint8_t { hinge, cosine };

  Tensor compute(const Packet& packet, Context& context) override;

  Form form_ = Form::hinge;
  std::optional<double> margin_;
};

/// Rows of the batch by role, in order of their groups' first rows.
struct TripletRows {
  std::vector<std::int64_t> anchors;
  std::vector<std::int64_t> positives;
  std::vector<std::int64_t> negatives;
};

/// Throws seam::Error naming a group that is not a triplet, with exactly one row per role.
[[nodiscard]] TripletRows triplet_rows(const std::vector<std::int64_t>& groups,
                                       const std::vector<Role>& roles);

}  // namespace seam::stages
