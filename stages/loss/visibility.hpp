/// Stage `loss.visibility`: whether a network knows which landmarks can be seen.
#pragma once

#include <seam/loss.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace seam::stages {

/// The mean over images and landmarks of the cross entropy. `logits` is [N,L,S], `states` i64[N,L].
[[nodiscard]] Tensor visibility_loss(const Tensor& logits, const Tensor& states);

/// Throws seam::Error naming the first image with a state other than 0 to 3.
void check_states(const Tensor& states, const std::vector<Origin>* origins);

/// The row's origin, or its number if there are no origins.
[[nodiscard]] std::string name_of_row(std::int64_t row, const std::vector<Origin>* origins);

class Visibility final : public Loss {
 public:
  static constexpr std::string_view name = "loss.visibility";

  void declare(Declaration& d) override;

 private:
  Tensor compute(const Packet& packet, Context& context) override;
};

}  // namespace seam::stages
