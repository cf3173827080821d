#include "stages/model/descriptors.hpp"

#include <algorithm>

#include <torch/nn/modules/linear.h>
#include <torch/types.h>
#include <seam/contract.hpp>
#include <seam/error.hpp>

#include "stages/counted.hpp"
#include "stages/nn/embedding.hpp"
#include "stages/nn/feature_map.hpp"

namespace seam::nn {

std::int64_t GlobalDescriptorsOptions::pooled(Pooling pooling) const {
  return pooling == Pooling::none ? channels * map_height * map_width : channels;
}

std::int64_t GlobalDescriptorsOptions::length() const {
  std::int64_t sum = 0;
  for (const Pooling pooling : descriptors) sum += dimensions > 0 ? dimensions : pooled(pooling);
  return sum;
}

GlobalDescriptorsImpl::GlobalDescriptorsImpl(GlobalDescriptorsOptions options)
    : options_(std::move(options)) {
  if (options_.channels < 1 || options_.descriptors.empty()) {
    throw Error("global descriptors need at least one descriptor, and one channel",
                Fault::configuration);
  }
  const bool flat = std::ranges::count(options_.descriptors, Pooling::none) > 0;
  if (flat ? options_.map_height < 1 || options_.map_width < 1
           : options_.map_height != 0 || options_.map_width != 0) {
    throw Error(flat ? "the descriptor `flat` has weights for each pixel: set `map_height` and "
                       "`map_width` to those of the feature map"
                     : "`map_height` and `map_width` have no effect without the descriptor `flat`; "
                       "remove them",
                Fault::configuration);
  }
  for (const Pooling pooling : options_.descriptors) {
    const std::string number = std::to_string(pools_.size() + 1);
    pools_.push_back(register_module("pool" + number, GlobalPooling(pooling, options_.channels)));
    if (options_.dimensions > 0) {
      // Without a bias, as in the paper's figure and released implementations.
      projections_.push_back(register_module(
          "projection" + number,
          Linear(torch::nn::LinearOptions(options_.pooled(pooling), options_.dimensions)
                     .bias(false))));
    }
  }
  if (options_.classes > 0) {
    const std::int64_t first = options_.pooled(options_.descriptors[0]);
    bn_ = register_module("bn", BatchNorm2d(first));
    fc_ = register_module("fc", Linear(first, options_.classes));
  }
}

DescriptorsOutput GlobalDescriptorsImpl::forward(const Tensor& feature_map) {
  check_feature_map(feature_map, options_.channels);
  if (options_.map_height > 0 &&
      (feature_map.size(2) != options_.map_height || feature_map.size(3) != options_.map_width)) {
    throw Error("the feature map is " +
                    stages::width_by_height(feature_map.size(3), feature_map.size(2)) +
                    ", but the descriptor `flat` is for " +
                    stages::width_by_height(options_.map_width, options_.map_height) +
                    " (width x height); set `map_width` and `map_height`, or resize the images",
                Fault::configuration);
  }
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

namespace seam::stages {

void Descriptors::declare(Declaration& d) {
  d.doc(
      "Combined global descriptors (CGD, Jun et al. 2019): a feature map is pooled in several "
      "ways; each result is projected and scaled to unit length, and their concatenation is the "
      "embedding. The classifier gets the first one, unprojected, through batch normalisation.");
  d.parameter("channels", options_.channels, "channels of the feature map")
      .range(1, 65536)
      .from_field();
  d.parameter(
      "descriptors", options_.descriptors,
      "poolings over the pixels of each channel: the mean (spoc), the generalised mean "
      "with one trained power (gem) or one for each channel (gemmp), or the maximum (mac); or "
      "all pixels, not pooled (flat)",
      {{"spoc", nn::Pooling::average},
       {"gem", nn::Pooling::generalised_mean},
       {"gemmp", nn::Pooling::generalised_mean_by_channel},
       {"mac", nn::Pooling::maximum},
       {"flat", nn::Pooling::none}});
  d.parameter("map_height", options_.map_height,
              "height of the feature map, which flat needs: its dense layer has weights for each "
              "pixel; 0: without flat, maps may have any size")
      .range(0, 4096);
  d.parameter("map_width", options_.map_width, "width of the feature map, likewise").range(0, 4096);
  d.parameter("dimensions", options_.dimensions,
              "length of each descriptor, which a dense layer makes; 0: the pooled channels")
      .range(0, 65536);
  d.parameter("unit_length", options_.unit_length,
              "what is scaled to length 1: each descriptor and then all together, or only each, as "
              "model.capsule_module and model.concat need; the ranking is the same",
              {{"together", nn::UnitLength::together}, {"each", nn::UnitLength::each}});
  d.parameter("classes", options_.classes, "classes of the classifier; 0: no classifier")
      .range(0, 1000000);
  d.needs(field::feature_map)
      .contract("f32[N," + dimension_of(options_.channels, "channels") + ",H,W]");
  d.provides(field::embedding)
      .contract(options_.channels > 0 && !options_.descriptors.empty()
                    ? "f32[N," + std::to_string(options_.length()) + "]"
                    : "f32[N,E]");
  if (options_.classes > 0) {
    d.provides(field::logits).contract("f32[N," + std::to_string(options_.classes) + "]");
  }
  declare_classifier(d);
}

void Descriptors::forward(nn::GlobalDescriptors& net, Packet& packet, Context& /*context*/) {
  const nn::DescriptorsOutput output = net->forward(packet.get(field::feature_map));
  packet.set(field::embedding, output.embedding);
  if (output.logits.defined()) packet.set(field::logits, output.logits);
}

}  // namespace seam::stages
