#include "template_stage.hpp"

#include <torch/torch.h>

#include <string>

TemplateStageNetworkImpl::TemplateStageNetworkImpl(std::int64_t dimensions)
    : conv_(
          register_module("conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 32, 3).stride(2)))),
      embedding_(register_module("embedding", torch::nn::Linear(32, dimensions))) {}

torch::Tensor TemplateStageNetworkImpl::forward(const torch::Tensor& images) {
  return embedding_(conv_(images).relu().mean({2, 3}));
}

void TemplateStage::declare(seam::Declaration& d) {
  d.doc("A convolution, pooling and a dense layer.");
  d.parameter("dimensions", dimensions_, "length of the embedding").range(1, 65536);
  // Contracts are checked along the whole pipeline before anything runs.
  d.needs(seam::field::images);
  d.provides(seam::field::embedding).contract("f32[N," + std::to_string(dimensions_) + "]");
  declare_module(d);  // weights, freeze, rate_scale, precision; optimizers find the weights
}

void TemplateStage::forward(TemplateStageNetwork& network, seam::Packet& packet,
                            seam::Context& /*context*/) {
  packet.set(seam::field::embedding, network->forward(packet.get(seam::field::images)));
}
