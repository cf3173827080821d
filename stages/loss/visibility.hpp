/// Stage `loss.visibility`: whether a network knows which landmarks can be seen.
#pragma once

#include <torch/nn/functional/loss.h>
#include <torch/types.h>
#include <seam/loss.hpp>

#include <cstdint>
#include <string>
#include <string_view>

#include "stages/landmark_tensors.hpp"
#include "stages/landmarks.hpp"
#include "stages/loss/base/rows.hpp"

namespace seam::stages {

/// The mean over images and landmarks of the cross entropy. `logits` is [N,L,S], `states` i64[N,L].
[[nodiscard]] inline Tensor visibility_loss(const Tensor& logits, const Tensor& states) {
  return torch::nn::functional::cross_entropy(logits.flatten(0, 1), states.flatten());
}

/// Throws seam::Error naming the first image with a state other than 0 to 3.
inline void check_states(const Tensor& states, const Packet& packet) {
  constexpr auto most = static_cast<std::int64_t>(LandmarkState::none);
  const Tensor wrong = (states < 0).logical_or(states > most).nonzero();
  if (wrong.size(0) == 0) return;
  const auto row = wrong[0][0].item<std::int64_t>();
  const auto landmark = wrong[0][1].item<std::int64_t>();
  throw Error(row_name(packet, row) + ": landmark " + std::to_string(landmark + 1) +
              " has visibility " + std::to_string(states[row][landmark].item<std::int64_t>()) +
              "; it must be 0 (visible), 1 (occluded), 2 (cut off) or 3 (none)");
}

class Visibility final : public Loss {
 public:
  static constexpr std::string_view name = "loss.visibility";

  void declare(Declaration& d) override {
    d.doc(
        "Cross entropy between the softmax of a network's logits and the state of each landmark "
        "(visible, occluded, cut off or none), averaged over the landmarks of a batch.");
    d.needs(field::visibility_logits);
    d.needs(field::true_visibility).doc("batch: carry = [\"visibility as true_visibility\"]");
    d.accepts(field::origins).doc("to name a rejected image");
    d.headline("accuracy", Better::higher);
    declare_loss(d);
  }

 private:
  Tensor compute(const Packet& packet, Context& /*context*/) override {
    const Tensor& logits = packet.get(field::visibility_logits);
    const Tensor states = packet.get(field::true_visibility).to(logits.device());
    check_rows(logits.size(0));
    check_states(states, packet);
    measure("accuracy", (logits.detach().argmax(-1) == states).to(torch::kFloat32).mean());
    return visibility_loss(logits, states);
  }
};

}  // namespace seam::stages
