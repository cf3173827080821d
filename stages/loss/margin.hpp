/// Stage `loss.margin`: classification by the lengths of class capsules.
///
///     L = T max(0, m+ - |v|)² + λ (1 - T) max(0, |v| - m-)²,  summed over classes
///
/// Sabour, Frosst, Hinton, "Dynamic routing between capsules", NIPS 2017, equation 4.
#pragma once

#include <seam/loss.hpp>

#include <string_view>
#include <vector>

namespace seam::stages {

struct MarginSettings {
  double present = 0.9;  ///< m+: the capsule of the category should be at least this long
  double absent = 0.1;   ///< m-: the others should be at most this long
  double down = 0.5;     ///< λ: weight of the others
};

/// The mean over rows of the sum over classes; lengths are [N,K], labels i64[N].
[[nodiscard]] Tensor margin_loss(const Tensor& lengths, const Tensor& labels,
                                 const MarginSettings& settings);

class Margin final : public Loss {
 public:
  static constexpr std::string_view name = "loss.margin";

  void declare(Declaration& d) override;
  void open(Context& context) override;

 private:
  Tensor compute(const Packet& packet, Context& context) override;

  MarginSettings settings_;
  std::vector<std::int64_t> top_ = {1};
};

}  // namespace seam::stages
