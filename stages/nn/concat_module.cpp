#include "stages/nn/concat_module.hpp"

#include <torch/nn/functional/normalization.h>
#include <torch/nn/init.h>
#include <torch/types.h>
#include <seam/error.hpp>

#include <sstream>

namespace seam::nn {
namespace {

using torch::Tensor;

Tensor normalised(BatchNorm2d& norm, const Tensor& rows) {
  return norm(rows.view({rows.size(0), -1, 1, 1})).flatten(1);
}

Linear dense(std::int64_t in, std::int64_t out) {
  Linear layer(in, out);
  torch::nn::init::kaiming_normal_(layer->weight, 0, torch::kFanIn, torch::kReLU);
  torch::nn::init::zeros_(layer->bias);
  return layer;
}

}  // namespace

ConcatModuleImpl::ConcatModuleImpl(const ConcatModuleOptions& options) : options_(options) {
  const bool together = options_.classified == Classified::together;
  if ((together && options_.width < 1) || options_.capsules < 1 || options_.capsule_size < 1 ||
      options_.bottleneck < 1 || options_.classes < 1) {
    throw Error(
        "`width`, `capsules`, `capsule_size`, `bottleneck` and `classes` must be at least 1",
        Fault::configuration);
  }
  const std::int64_t in = together ? options_.length() : options_.capsules * options_.capsule_size;
  bn1_ = register_module("bn1", BatchNorm2d(in));
  fc1_ = register_module("fc1", dense(in, options_.bottleneck));
  bn2_ = register_module("bn2", BatchNorm2d(options_.bottleneck));
  fc2_ = register_module("fc2", dense(options_.bottleneck, options_.classes));
}

ConcatModuleOutput ConcatModuleImpl::forward(const Tensor& descriptors, const Tensor& capsules) {
  const bool together = options_.classified == Classified::together;
  if (capsules.dim() != 3 || capsules.size(1) != options_.capsules ||
      capsules.size(2) != options_.capsule_size ||
      (together && (descriptors.dim() != 2 || descriptors.size(0) != capsules.size(0) ||
                    descriptors.size(1) != options_.width))) {
    std::ostringstream text;
    text << "the module needs capsules [N," << options_.capsules << "," << options_.capsule_size
         << "]";
    if (together) text << " and descriptors [N," << options_.width << "]";
    text << ", not " << capsules.sizes();
    if (together) text << " and " << descriptors.sizes();
    throw Error(text.str(), Fault::configuration);
  }
  ConcatModuleOutput output;
  Tensor all = capsules.flatten(1);
  if (together) {
    all = torch::cat({descriptors, all}, 1);
    output.embedding =
        torch::nn::functional::normalize(all, torch::nn::functional::NormalizeFuncOptions().dim(1));
  }
  output.logits = fc2_(normalised(bn2_, fc1_(normalised(bn1_, all))));
  return output;
}

}  // namespace seam::nn
