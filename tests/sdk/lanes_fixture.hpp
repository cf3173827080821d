/// Networks for tests of lanes, a batch of them, and a trial that runs one.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/sdk/network_trial.hpp"

namespace seam::lanes_test {

inline constexpr Field<Tensor> scores{"scores", "f32[N,3]"};
inline constexpr Field<Tensor> longest{"longest", "i64[N]"};
inline constexpr Field<Tensor> penalty{"penalty", "f32[]"};

/// A perceptron with a second output and a buffer that has no useful mean.
class NetImpl : public test::PerceptronImpl {
 public:
  NetImpl()
      : PerceptronImpl(8),
        head(register_module("head", torch::nn::Linear(8, 3))),
        mask(register_buffer("mask", torch::tensor({-INFINITY, -0.F}))) {}

  std::pair<Tensor, Tensor> forward(const Tensor& images) {
    const Tensor x = features(images);
    return {fc2(x), head(x)};
  }

  torch::nn::Linear head;
  Tensor mask;
};
TORCH_MODULE(Net);

/// images, (categories) ──► embedding, scores, longest
class NetStage final : public ModuleStage<Net> {
 public:
  void declare(Declaration& d) override {
    d.doc("A small network.");
    d.needs(field::images);
    d.accepts(field::categories);
    d.provides(field::embedding).contract("f32[N,5]");
    d.provides(scores);
    d.provides(longest);
    declare_module(d);
  }
  using ModuleStage::net;
  std::vector<std::vector<std::int64_t>> categories_seen;
  std::function<void()> before_pass;

 private:
  [[nodiscard]] Net make() const override { return {}; }
  void forward(Net& net, Packet& packet, Context& /*context*/) override {
    if (before_pass) before_pass();
    const auto [embedding, all] = net->forward(packet.get(field::images));
    packet.set(field::embedding, embedding);
    packet.set(scores, all);
    packet.set(longest, all.argmax(1));
    if (packet.has(field::categories)) categories_seen.push_back(packet.get(field::categories));
  }
};

/// embedding ──► scores, as the test decides
class ScriptedStage final : public ModuleStage<torch::nn::Linear> {
 public:
  void declare(Declaration& d) override {
    d.doc("A dense layer, or more.");
    declare_module(d);
    // After declare_module(), because the order must not matter.
    d.needs(field::embedding).contract("f32[N,5]");
    d.accepts(field::items);
    d.provides(scores);
  }
  using ModuleStage::net;
  std::function<void(Packet& packet, Context& context)> before_net;
  int calls = 0;
  int call_without_scores = 0;
  double factor = 1;

 private:
  [[nodiscard]] torch::nn::Linear make() const override { return torch::nn::Linear(5, 3); }
  void forward(torch::nn::Linear& net, Packet& packet, Context& context) override {
    ++calls;
    if (before_net) before_net(packet, context);
    if (context.dropped() || calls == call_without_scores) return;
    packet.set(scores, net->forward(packet.get(field::embedding)) * factor);
  }
};

template <class StageOfNet>
struct Trial : test::NetworkTrial<StageOfNet> {
  explicit Trial(const Lanes& lanes = {}, const std::string& name = "model")
      : test::NetworkTrial<StageOfNet>(name) {
    this->harness.seed(3).compute_threads(1).training(true).lanes(lanes);
  }
};

constexpr Lanes keep(std::int64_t count) {
  return {count, LaneMemory::keep};
}
constexpr Lanes recompute(std::int64_t count) {
  return {count, LaneMemory::recompute};
}

inline Packet batch(std::int64_t rows = 10, float offset = 0) {
  return test::image_batch(rows, offset);
}

/// A loss in which each row depends on all others.
inline Tensor loss_of(const Tensor& embedding) {
  return embedding.matmul(embedding.t()).sub(1).square().mean();
}

inline Packet vectors(std::int64_t rows = 8) {
  Packet packet;
  packet.set(field::embedding,
             torch::arange(rows * 5).to(torch::kFloat32).view({rows, 5}).mul(0.7).sin());
  return packet;
}

}  // namespace seam::lanes_test
