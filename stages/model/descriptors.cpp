#include "stages/model/descriptors.hpp"

#include <string>

namespace seam::stages {

void Descriptors::declare(Declaration& d) {
  d.doc(
      "Combined global descriptors (CGD, Jun et al. 2019): a feature map is pooled in several "
      "ways; each result is projected and scaled to unit length, and their concatenation is the "
      "embedding. The classifier gets the first one, unprojected, through batch normalisation.");
  d.parameter("channels", options_.channels, "channels of the feature map")
      .range(1, 65536)
      .required();
  d.parameter("descriptors", options_.descriptors,
              "poolings over the pixels of each channel: the mean (spoc), the generalised mean "
              "with one trained power (gem) or one for each channel (gemmp), or the maximum (mac)",
              {{"spoc", nn::Pooling::average},
               {"gem", nn::Pooling::generalised_mean},
               {"gemmp", nn::Pooling::generalised_mean_by_channel},
               {"mac", nn::Pooling::maximum}});
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
      .contract(options_.channels > 0 ? "f32[N," + std::to_string(options_.channels) + ",H,W]"
                                      : "f32[N,C,H,W]");
  d.provides(field::embedding)
      .contract(options_.channels > 0 && !options_.descriptors.empty()
                    ? "f32[N," + std::to_string(options_.length()) + "]"
                    : "f32[N,E]");
  if (options_.classes > 0) {
    d.provides(field::logits).contract("f32[N," + std::to_string(options_.classes) + "]");
  }
  vocabulary_.declare(d);  // even if classes are not set yet: offers are read only once
  declare_module(d);
}

void Descriptors::open(Context& context) {
  vocabulary_.open();
  ModuleStage::open(context);
}

void Descriptors::forward(nn::GlobalDescriptors& net, Packet& packet, Context& /*context*/) {
  const nn::DescriptorsOutput output = net->forward(packet.get(field::feature_map));
  packet.set(field::embedding, output.embedding);
  if (output.logits.defined()) packet.set(field::logits, output.logits);
}

}  // namespace seam::stages
