#include "stages/loss/visibility.hpp"

#include <torch/nn/functional/loss.h>
#include <torch/types.h>

#include "stages/landmark_tensors.hpp"
#include "stages/landmarks.hpp"

namespace seam::stages {

void Visibility::declare(Declaration& d) {
  d.doc(
      "Cross entropy between the softmax of a network's logits and the state of each landmark "
      "(visible, occluded, cut off or none), averaged over the landmarks of a batch.");
  d.needs(field::visibility_logits);
  d.needs(field::true_visibility).doc("batch: carry = [\"visibility as true_visibility\"]");
  d.accepts(field::origins).doc("to name a rejected image");
  d.headline("accuracy", Better::higher);
  declare_loss(d);
}

Tensor Visibility::compute(const Packet& packet, Context& /*context*/) {
  const Tensor& logits = packet.get(field::visibility_logits);
  const Tensor states = packet.get(field::true_visibility).to(logits.device());
  if (logits.size(0) == 0) throw Error("the batch has no rows, and a mean needs one");
  check_states(states, packet.has(field::origins) ? &packet.get(field::origins) : nullptr);
  measure("accuracy", (logits.detach().argmax(-1) == states).to(torch::kFloat32).mean());
  return visibility_loss(logits, states);
}

Tensor visibility_loss(const Tensor& logits, const Tensor& states) {
  return torch::nn::functional::cross_entropy(logits.flatten(0, 1), states.flatten());
}

void check_states(const Tensor& states, const std::vector<Origin>* origins) {
  constexpr auto most = static_cast<std::int64_t>(LandmarkState::none);
  const Tensor wrong = (states < 0).logical_or(states > most).nonzero();
  if (wrong.size(0) == 0) return;
  const auto row = wrong[0][0].item<std::int64_t>();
  const auto landmark = wrong[0][1].item<std::int64_t>();
  throw Error(name_of_row(row, origins) + ": landmark " + std::to_string(landmark + 1) +
              " has visibility " + std::to_string(states[row][landmark].item<std::int64_t>()) +
              "; it must be 0 (visible), 1 (occluded), 2 (cut off) or 3 (none)");
}

std::string name_of_row(std::int64_t row, const std::vector<Origin>* origins) {
  return origins != nullptr ? origins->at(static_cast<std::size_t>(row)).text()
                            : "row " + std::to_string(row);
}

}  // namespace seam::stages
