#include "stages/nn/global_descriptors.hpp"

#include <torch/nn/functional/normalization.h>
#include <torch/nn/modules/linear.h>
#include <torch/types.h>
#include <seam/error.hpp>

#include <string>
#include <utility>

#include "stages/nn/feature_map.hpp"

namespace seam::nn {
namespace {

using torch::Tensor;

Tensor unit(const Tensor& rows) {
  return torch::nn::functional::normalize(rows,
                                          torch::nn::functional::NormalizeFuncOptions().dim(1));
}

}  // namespace

GlobalDescriptorsImpl::GlobalDescriptorsImpl(GlobalDescriptorsOptions options)
    : options_(std::move(options)) {
  if (options_.channels < 1 || options_.descriptors.empty()) {
    throw Error("global descriptors need at least one descriptor, and one channel",
                Fault::configuration);
  }
  for (const Pooling pooling : options_.descriptors) {
    const std::string number = std::to_string(pools_.size() + 1);
    pools_.push_back(register_module("pool" + number, GlobalPooling(pooling, options_.channels)));
    if (options_.dimensions > 0) {
      // Without a bias, as in the paper's figure and released implementations.
      projections_.push_back(register_module(
          "projection" + number,
          Linear(torch::nn::LinearOptions(options_.channels, options_.dimensions).bias(false))));
    }
  }
  if (options_.classes > 0) {
    bn_ = register_module("bn", BatchNorm2d(options_.channels));
    fc_ = register_module("fc", Linear(options_.channels, options_.classes));
  }
}

DescriptorsOutput GlobalDescriptorsImpl::forward(const Tensor& feature_map) {
  check_feature_map(feature_map, options_.channels);
  DescriptorsOutput output;
  std::vector<Tensor> descriptors;
  for (std::size_t at = 0; at < pools_.size(); ++at) {
    const Tensor pooled = pools_[at](feature_map);
    if (at == 0 && fc_)
      output.logits = fc_(bn_(pooled.view({-1, pooled.size(1), 1, 1})).flatten(1));
    descriptors.push_back(
        unit(projections_.empty() ? pooled : projections_[at](pooled).to(pooled.scalar_type())));
  }
  output.embedding = torch::cat(descriptors, 1);
  if (options_.unit_length == UnitLength::together) output.embedding = unit(output.embedding);
  return output;
}

}  // namespace seam::nn
