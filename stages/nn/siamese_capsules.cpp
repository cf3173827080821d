#include "stages/nn/siamese_capsules.hpp"

#include <torch/types.h>
#include <torch/utils.h>

#include <seam/error.hpp>

#include "stages/nn/initialisation.hpp"

namespace seam::nn {

using torch::Tensor;

NetworkOptions siamese_capsules_as_published() {
  NetworkOptions options;
  options.features = FeatureKind::one_convolution;
  options.classes = 20;
  options.width = 256;
  options.primary_channels = 256;
  options.capsule_size = 8;
  options.first_stride = 3;
  options.channels = 1;
  options.dropout = 0.2;
  options.weights = CapsuleWeights::own;
  options.images = {100, 100};
  options.routing.iterations = 4;
  options.routing.logits = Logits::accumulate;
  options.routing.squash = SquashForm::tanh;
  options.primary_squash = SquashForm::epsilon_in_root;
  options.norm_axis = NormAxis::none;
  return options;
}

NetworkOptions siamese_capsules_released_default() {
  NetworkOptions options = siamese_capsules_as_published();
  options.features = FeatureKind::mirrored;
  options.width = 16;
  options.primary_channels = 128;
  options.first_stride.reset();
  options.routing.iterations = 3;
  options.routing.squash = SquashForm::sigmoid;
  return options;
}

SiameseCapsulesImpl::SiameseCapsulesImpl(const SiameseCapsulesOptions& options, std::uint64_t seed)
    : options_(options) {
  if (options.dimensions < 1) {
    throw Error("an embedding needs at least one dimension", Fault::configuration);
  }
  network = register_module("capsules", CapsuleNetwork(options.capsules, seed));
  const std::int64_t numbers = options.capsules.classes * options.capsules.class_capsule_size;
  dense = register_module("dense", Linear(numbers, options.dimensions));
  {
    const torch::NoGradGuard no_gradient;
    // After the streams of the convolutions and of the routing weights.
    dense->weight.copy_(glorot_uniform({options.dimensions, numbers}, numbers, options.dimensions,
                                       seed, network->extractor->streams() + 1));
    dense->bias.zero_();
  }
  if (!options.dropout) return;
  ConcreteDropoutOptions of_capsules = *options.dropout;
  of_capsules.capsules = options.capsules.classes;
  dropout = register_module("dropout", ConcreteDropout(of_capsules));
}

SiameseResult SiameseCapsulesImpl::forward(const Tensor& images, const DropoutKey& key) {
  SiameseResult result;
  result.capsules = network->forward(images, key).capsules;
  Tensor x = result.capsules;
  if (!dropout.is_empty()) {
    // A layer number that no convolution has.
    constexpr std::int64_t layer = 1000;
    const Tensor noise =
        dropout->is_training()
            ? concrete_noise(x.size(0), x.size(1), key, layer, x.scalar_type()).to(x.device())
            : Tensor();
    x = dropout->forward(x, noise);
  }
  x = dense->forward(x.flatten(1)).to(dense->weight.scalar_type());
  if (options_.unit_length) x = x * torch::rsqrt((x * x).sum(1, true).clamp_min(1e-12));
  result.embedding = x;
  return result;
}

}  // namespace seam::nn
