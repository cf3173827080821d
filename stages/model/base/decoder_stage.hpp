/// Base class of decoders, which draw an image from one class capsule: in training that of the
/// image's category, in evaluation the longest.
///
///     capsules, predicted_category, (training: categories) ──► M, made from Options
///                                                              ──► reconstruction
#pragma once

#include <torch/types.h>
#include <seam/contract.hpp>
#include <seam/module.hpp>

#include "stages/model/base/image_size.hpp"
#include "stages/nn/capsule_network.hpp"
#include "stages/nn/initialisation.hpp"
#include "stages/reconstruction.hpp"

namespace seam::nn {

/// Capsules [N,K,D] side by side, of which only those of `categories`, i64 [N], are kept. Throws
/// seam::Error for other numbers than those of the options, and for categories out of range.
template <class Options>
[[nodiscard]] Tensor kept_capsule(const Tensor& capsules, const Tensor& categories,
                                  const Options& options) {
  if (capsules.dim() != 3 || capsules.size(1) != options.classes ||
      capsules.size(2) != options.capsule_size) {
    throw Error("the decoder needs " + std::to_string(options.classes) + " capsules of " +
                    std::to_string(options.capsule_size) + " elements per image",
                Fault::internal);
  }
  return mask_capsules(capsules, categories);
}

}  // namespace seam::nn

namespace seam::stages {

/// `Options` has `classes`, `capsule_size` and `images`.
template <class M, class Options>
class DecoderStage : public ModuleStage<M> {
 protected:
  void declare_sizes(Declaration& d) {
    d.parameter("classes", options_.classes, "class capsules").range(1, 100000).from_field();
    d.parameter("capsule_size", options_.capsule_size, "size of a class capsule")
        .range(1, 1024)
        .from_field();
    declare_image_size(d, options_.images.height, options_.images.width);
  }

  /// Declares the fields and the parameters of all networks; call it at the end of declare().
  void declare_decoder(Declaration& d) {
    d.needs(field::capsules)
        .contract("f32[N," + dimension_of(options_.classes, "classes") + "," +
                  dimension_of(options_.capsule_size, "capsule_size") + "]");
    d.needs(field::images)
        .contract(images_of_size(options_.images.height, options_.images.width, 1))
        .doc("only for their size");
    d.needs(field::predicted_category).doc("selects the capsule to draw in evaluation");
    d.accepts(field::categories).doc("selects the capsule to draw in training");
    d.provides(field::reconstruction)
        .contract(images_of_size(options_.images.height, options_.images.width, 1));
    this->declare_module(d);
  }

  Options options_;

 private:
  [[nodiscard]] M make() const final { return M(options_, nn::generator_seed()); }
  void forward(M& net, Packet& packet, Context& context) final {
    packet.set(field::reconstruction,
               net->forward(packet.get(field::capsules), drawn(packet, context)));
  }

  /// The class i64[N] of each row.
  [[nodiscard]] static Tensor drawn(const Packet& packet, const Context& context) {
    if (!context.training()) return packet.get(field::predicted_category);
    if (!packet.has(field::categories)) {
      throw Error(
          "in training the decoder draws the capsule of each image's category, but the packets "
          "have no `categories`; use a data set that has them",
          Fault::configuration);
    }
    return torch::tensor(packet.get(field::categories), torch::kInt64);
  }
};

}  // namespace seam::stages
