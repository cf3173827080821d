/// Networks in a harness, and their tensors by name.
#pragma once

#include <gmock/gmock.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>
#include <seam/module.hpp>
#include <seam/testing.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace seam::test {

/// A convolution, a dense layer, batch normalisation, dropout, a dense layer.
class PerceptronImpl : public torch::nn::Module {
 public:
  explicit PerceptronImpl(std::int64_t hidden)
      : conv(register_module(
            "conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 4, 3).padding(1).bias(false)))),
        fc1(register_module("fc1", torch::nn::Linear(4 * 4 * 4, hidden))),
        norm(register_module("norm", torch::nn::BatchNorm1d(hidden))),
        dropout(register_module("dropout", torch::nn::Dropout(0.5))),
        fc2(register_module("fc2", torch::nn::Linear(hidden, 5))) {}
  Tensor features(const Tensor& images) { return dropout(norm(fc1(conv(images).flatten(1)))); }
  Tensor forward(const Tensor& images) { return fc2(features(images)); }

  torch::nn::Conv2d conv;
  torch::nn::Linear fc1;
  torch::nn::BatchNorm1d norm;
  torch::nn::Dropout dropout;
  torch::nn::Linear fc2;
};
TORCH_MODULE(Perceptron);

/// Images of 4 x 4 pixels.
inline Packet image_batch(std::int64_t rows, float offset = 0) {
  Packet packet;
  packet.set(field::images, (torch::arange(rows * 3 * 4 * 4).to(torch::kFloat32) * 0.37 + offset)
                                .view({rows, 3, 4, 4})
                                .sin());
  return packet;
}

using Tensors = std::map<std::string, Tensor>;

inline ::testing::AssertionResult equal(const Tensors& a, const Tensors& b, bool strides = false) {
  if (a.size() != b.size()) return ::testing::AssertionFailure() << a.size() << "!=" << b.size();
  for (const auto& [name, x] : a) {
    const Tensor& y = b.at(name);
    if (x.defined() != y.defined()) return ::testing::AssertionFailure() << name << " is undefined";
    if (!x.defined()) continue;
    if (!torch::equal(x, y) || (strides && x.strides() != y.strides())) {
      return ::testing::AssertionFailure() << name << " differs:\n" << x << "\nand\n" << y;
    }
  }
  return ::testing::AssertionSuccess();
}

/// A network's stage in its harness, with access to the stage.
template <class StageOfNet>
struct NetworkTrial {
  explicit NetworkTrial(const std::string& name = "model")
      : owned(std::make_unique<StageOfNet>()),
        stage(owned.get()),
        harness(name, std::move(owned)) {}
  std::unique_ptr<StageOfNet> owned;
  StageOfNet* stage;
  testing::Harness harness;

  Packet run(const Packet& packet) {
    harness.forget();
    harness.push(packet);
    EXPECT_THAT(harness.errors(), ::testing::IsEmpty());
    return harness.outputs().at(0);
  }
  [[nodiscard]] Tensors state() const {
    Tensors copies;
    for (const auto& [name, tensor] : detail::named_state(*stage->net())) {
      copies[name] = tensor.detach().clone();
    }
    return copies;
  }
  [[nodiscard]] Tensors gradients() const {
    Tensors found;
    for (const auto& item : stage->net()->named_parameters()) {
      found[item.key()] = item.value().grad().defined() ? item.value().grad().clone() : Tensor();
    }
    return found;
  }
};

}  // namespace seam::test
