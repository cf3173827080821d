/// Stage `loss.landmark`: how far predicted landmarks are from the true ones.
#pragma once

#include <torch/types.h>
#include <seam/loss.hpp>

#include <cstdint>
#include <string>
#include <string_view>

#include "stages/counted.hpp"
#include "stages/landmark_tensors.hpp"
#include "stages/landmarks.hpp"
#include "stages/loss/base/rows.hpp"
#include "stages/loss/visibility.hpp"

namespace seam::stages {

/// The mean over images of the sum over visible landmarks of the squared distance. `predicted` and
/// `places` are [N,L,2], `visible` is bool [N,L].
[[nodiscard]] inline Tensor landmark_loss(const Tensor& predicted, const Tensor& places,
                                          const Tensor& visible) {
  // Selected before the difference: invisible landmarks may have any value, NaN as well, and get a
  // gradient of 0.
  const Tensor targets = torch::where(visible.unsqueeze(-1), places, predicted.detach());
  return (predicted - targets).square().sum(-1).sum(1).mean();
}

/// Positions in pixels as fractions of the sides: the centre of the first of 10 pixels is at 0.05.
[[nodiscard]] inline Tensor shares_of(const Tensor& pixels, std::int64_t height,
                                      std::int64_t width) {
  const Tensor sides = torch::tensor({static_cast<double>(width), static_cast<double>(height)})
                           .to(pixels.device(), pixels.scalar_type());
  return (pixels + 0.5) / sides;
}

class Landmark final : public Loss {
 public:
  static constexpr std::string_view name = "loss.landmark";

  void declare(Declaration& d) override {
    d.doc(
        "Sum of squared distances between the predicted and true visible landmarks of an image, as "
        "fractions of its sides; averaged over a batch.");
    d.needs(field::images).doc("for their size");
    d.needs(field::predicted_landmarks);
    d.needs(field::true_landmarks).doc("batch: carry = [\"landmarks as true_landmarks\"]");
    d.needs(field::true_visibility).doc("batch: carry = [\"visibility as true_visibility\"]");
    d.accepts(field::origins).doc("to name a rejected image");
    d.headline("error", Better::lower);
    declare_loss(d);
  }

 private:
  /// Throws if a visible landmark is outside its image: a stage changed the image's size.
  static void check_places(const Tensor& places, const Tensor& visible, const Packet& packet) {
    const Tensor& images = packet.get(field::images);
    const std::int64_t height = images.size(2);
    const std::int64_t width = images.size(3);
    const Tensor x = places.select(2, 0);
    const Tensor y = places.select(2, 1);
    // Written so that NaN is outside as well.
    const Tensor inside =
        (x >= -1).logical_and(x <= width).logical_and(y >= -1).logical_and(y <= height);
    const Tensor wrong = visible.logical_and(inside.logical_not()).nonzero();
    if (wrong.size(0) == 0) return;
    const auto row = wrong[0][0].item<std::int64_t>();
    const auto number = wrong[0][1].item<std::int64_t>();
    throw Error(
        row_name(packet, row) + ": landmark " + std::to_string(number + 1) + " (" +
        std::string(landmark_names.at(static_cast<std::size_t>(number))) + ") is at x " +
        text_of(x[row][number].item<double>()) + " and y " +
        text_of(y[row][number].item<double>()) + ", which is outside the image of width " +
        std::to_string(width) + " and height " + std::to_string(height) +
        ": the landmarks belong to a different release of the images, or a stage before the "
        "batch changed the images without their landmarks");
  }

  Tensor compute(const Packet& packet, Context& /*context*/) override {
    const Tensor& images = packet.get(field::images);
    const Tensor& predicted = packet.get(field::predicted_landmarks);
    const Tensor places = packet.get(field::true_landmarks).to(predicted.device());
    const Tensor states = packet.get(field::true_visibility).to(predicted.device());
    check_rows(predicted.size(0));
    check_states(states, packet);
    const Tensor visible = states == 0;
    check_places(places, visible, packet);
    const Tensor truth = shares_of(places, images.size(2), images.size(3));
    measure("visible", visible.to(torch::kFloat32).mean());
    const Tensor chosen =
        (predicted.detach() - truth).square().sum(-1).sqrt().masked_select(visible);
    if (chosen.numel() > 0) measure("error", chosen.mean());
    return landmark_loss(predicted, truth, visible);
  }
};

}  // namespace seam::stages
