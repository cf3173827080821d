/// Stage `loss.reconstruction`: the error of images drawn by a decoder.
#pragma once

#include <torch/types.h>
#include <seam/loss.hpp>

#include "stages/counted.hpp"
#include "stages/loss/base/item_labels.hpp"
#include "stages/reconstruction.hpp"

namespace seam::stages {

/// How the squared errors of an image's values are combined.
enum class Reduction : std::uint8_t {
  mean,  ///< their mean: the thesis, and Keras' MSE
  sum,   ///< their sum: Sabour et al.
};

/// The mean over images [N,...] of the mean or the sum of squared differences.
[[nodiscard]] inline Tensor reconstruction_loss(const Tensor& images, const Tensor& reconstruction,
                                                Reduction reduction) {
  const Tensor squares = (images - reconstruction).square().flatten(1);
  return (reduction == Reduction::mean ? squares.mean(1) : squares.sum(1)).mean();
}

class Reconstruction final : public Loss {
 public:
  static constexpr std::string_view name = "loss.reconstruction";

  void declare(Declaration& d) override {
    d.doc(
        "Squared error between images and their reconstructions by a decoder, averaged over a "
        "batch. With `weight`, a regulariser for capsule networks.");
    d.parameter("reduction", reduction_, "how the squared errors of an image's values are combined",
                {{"mean", Reduction::mean}, {"sum", Reduction::sum}});
    d.needs(field::images);
    d.needs(field::reconstruction);
    d.headline("loss", Better::lower);
    declare_loss(d);
  }

 private:
  /// A decoder's last layer is a sigmoid: it cannot draw images that the batch normalises with
  /// `mean` and `deviation`.
  static void refuse_other_range(const Tensor& images) {
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

  Tensor compute(const Packet& packet, Context& /*context*/) override {
    const Tensor& images = packet.get(field::images);
    const Tensor& reconstruction = packet.get(field::reconstruction);
    check_rows(images.size(0));
    if (images.sizes() != reconstruction.sizes()) {
      throw Error("the images are " + width_by_height(images.size(3), images.size(2)) +
                  " but their reconstructions " +
                  width_by_height(reconstruction.size(3), reconstruction.size(2)) +
                  " (width x height); resize the images, or set the decoder's `image_height` and "
                  "`image_width`");
    }
    refuse_other_range(images);
    return reconstruction_loss(images.to(reconstruction.device()), reconstruction, reduction_);
  }

  Reduction reduction_ = Reduction::mean;
};

}  // namespace seam::stages
