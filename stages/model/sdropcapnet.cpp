#include "stages/model/sdropcapnet.hpp"

#include <torch/types.h>

namespace seam::stages {

void Sdropcapnet::declare(Declaration& d) {
  d.doc(
      "The Siamese capsule network with concrete dropout, SDropCapNet (O'Neill 2018; Gal et al. "
      "2017): model.scn, whose face capsules are dropped in training, each with a probability that "
      "is learned. The stage provides the resulting regularisation term as the initial `loss`.");
  d.parameter("initial_dropout", dropout_.initial,
              "initial probability that a face capsule is dropped")
      .range(1e-6, 0.999);
  d.parameter("temperature", dropout_.temperature,
              "temperature of the relaxed mask: the smaller, the nearer the mask is to 0 and 1")
      .range(1e-3, 10);
  d.parameter("regulariser", regulariser_, "weight of the regulariser in the loss").range(0, 1e6);
  d.parameter("weight_regulariser", weight_regulariser_,
              "factor of |W|² / (1 - p) relative to the entropies, for the dense layer's weights "
              "of a face capsule")
      .range(0, 1e6);
  d.accepts(field::loss).doc("loss of the stages before it");
  d.provides(field::loss).doc("sum including the regulariser");
  declare_network(d);
}

void Sdropcapnet::forward(nn::SiameseCapsules& net, Packet& packet, Context& context) {
  record_accepted(context);
  SiameseStage::forward(net, packet, context);
  const Tensor regulariser = net->dropout->regulariser(net->dense->weight, weight_regulariser_);
  Tensor loss = regulariser * regulariser_;
  if (packet.has(field::loss)) loss = packet.get(field::loss) + loss;
  packet.set(field::loss, loss);
  if (!context.training()) return;
  const Tensor p = net->dropout->probabilities();
  processed_ = {{"regulariser", regulariser.detach()},
                {"dropout", p.mean()},
                {"lowest_dropout", p.min()},
                {"highest_dropout", p.max()}};
}

void Sdropcapnet::batch_accepted() {
  SiameseStage::batch_accepted();
  std::vector<Tensor> tensors;
  for (const auto& measured : processed_) tensors.push_back(measured.second);
  accepted_.clear();
  for (const double number : numbers_in(tensors)) {
    accepted_.emplace_back(processed_[accepted_.size()].first, number);
  }
}

void Sdropcapnet::record_accepted(const Context& context) {
  for (const auto& [metric, value] : accepted_) context.metric(metric, value);
  accepted_.clear();
  processed_.clear();
}

void Sdropcapnet::end(Context& context) {
  record_accepted(context);
  SiameseStage::end(context);
}

Pause Sdropcapnet::pause(Context& context) {
  record_accepted(context);
  return SiameseStage::pause(context);
}

}  // namespace seam::stages
