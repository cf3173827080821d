#include "stages/loss/reconstruction.hpp"

#include <torch/types.h>

#include <string>

#include "stages/counted.hpp"
#include "stages/reconstruction.hpp"

namespace seam::stages {
namespace {

std::string size_of(const Tensor& images) {
  return std::to_string(images.size(3)) + "x" + std::to_string(images.size(2));
}

/// A decoder's last layer is a sigmoid: it cannot draw images that the batch normalises with `mean`
/// and `deviation`.
void refuse_other_range(const Tensor& images) {
  constexpr double rounding = 1e-3;
  const double least = images.min().item<double>();
  const double most = images.max().item<double>();
  if (least >= -rounding && most <= 1 + rounding) return;
  throw Error(
      "the images' values range from " + text_of(least) + " to " + text_of(most) +
          ", but those of a reconstruction from 0 to 1; leave `mean` and `deviation` of the "
          "batch unset",
      Fault::configuration);
}

}  // namespace

void Reconstruction::declare(Declaration& d) {
  d.doc(
      "Squared error between images and their reconstructions by a decoder, averaged over a batch. "
      "With `weight`, a regulariser for capsule networks.");
  d.parameter("reduction", reduction_, "how the squared errors of an image's values are combined",
              {{"mean", Reduction::mean}, {"sum", Reduction::sum}});
  d.needs(field::images);
  d.needs(field::reconstruction);
  d.headline("loss", Better::lower);
  declare_loss(d);
}

Tensor Reconstruction::compute(const Packet& packet, Context& /*context*/) {
  const Tensor& images = packet.get(field::images);
  const Tensor& reconstruction = packet.get(field::reconstruction);
  if (images.size(0) == 0) throw Error("the batch has no rows, and a mean needs one");
  if (images.sizes() != reconstruction.sizes()) {
    throw Error("the images are " + size_of(images) + " but their reconstructions " +
                size_of(reconstruction) +
                " (width x height); resize the images, or set the decoder's `image_height` and "
                "`image_width`");
  }
  refuse_other_range(images);
  return reconstruction_loss(images.to(reconstruction.device()), reconstruction, reduction_);
}

Tensor reconstruction_loss(const Tensor& images, const Tensor& reconstruction,
                           Reduction reduction) {
  const Tensor squares = (images - reconstruction).square().flatten(1);
  return (reduction == Reduction::mean ? squares.mean(1) : squares.sum(1)).mean();
}

}  // namespace seam::stages
