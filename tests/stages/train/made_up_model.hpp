/// A model of one or two weights for tests of optimizers, without a network.
#pragma once

#include <gtest/gtest.h>
#include <torch/types.h>
#include <seam/tensor.hpp>
#include <seam/testing.hpp>

#include <memory>
#include <vector>

namespace seam::stages::train_test {

/// Weight w with four elements, and a bias that its loss does not reach by default; the loss is the
/// sum of (w - target)².
class MadeUpModel final : public Transform, public Trainable {
 public:
  Tensor weight = torch::zeros({4}).requires_grad_(true);
  Tensor bias = torch::ones({2}).requires_grad_(true);
  double rate_scale = 1;
  bool frozen_bias = false;
  int accepted = 0;
  double weight_when_accepted = 0;  // the first number

  void declare(Declaration& d) override {
    d.offers<Trainable>(*this);
    d.keeps_state();
  }
  void process(Packet& /*packet*/, Context& /*context*/) override {}
  void save(Archive& archive) const override {
    put_tensor(archive, "dense.weight", weight);
    put_tensor(archive, "dense.bias", bias);
  }
  void load(const Archive& archive) override {
    get_tensor(archive, "dense.weight", weight);
    get_tensor(archive, "dense.bias", bias);
  }
  std::vector<NamedWeight> weights() override {
    std::vector<NamedWeight> all{{"dense.weight", weight, rate_scale}};
    if (!frozen_bias) all.push_back({"dense.bias", bias});
    return all;
  }
  void batch_accepted() override {
    ++accepted;
    weight_when_accepted = weight[0].item<double>();
  }
  [[nodiscard]] Tensor loss(double target = 3) const { return (weight - target).square().sum(); }
};

inline MadeUpModel& model_of(StageRunner& runner) {
  return dynamic_cast<MadeUpModel&>(runner.stage());
}

inline Packet with_loss(const Tensor& loss) {
  Packet packet;
  packet.set(field::loss, loss);
  return packet;
}

/// For conformance: a model upstream, and batches of its loss.
inline std::shared_ptr<void> connect_model(seam::testing::Harness& optimizer) {
  auto model =
      std::make_shared<StageRunner>("model", "test.model", std::make_unique<MadeUpModel>());
  optimizer.upstream({model.get()});
  return model;
}
inline std::vector<Packet> packets_of_upstream(seam::testing::Harness& optimizer, int count) {
  const at::AutoGradMode gradients(true);
  std::vector<Packet> packets;
  for (int i = 0; i < count; ++i) {
    packets.push_back(with_loss(model_of(*optimizer.upstream().at(0)).loss()));
  }
  return packets;
}

/// One flow with this many batches.
inline void train(seam::testing::Harness& optimizer, int batches) {
  for (int i = 0; i < batches; ++i) {
    const at::AutoGradMode gradients(true);
    optimizer.push(with_loss(model_of(*optimizer.upstream().at(0)).loss()));
  }
  optimizer.finish();
  ASSERT_TRUE(optimizer.errors().empty()) << optimizer.errors()[0].full_message();
}

}  // namespace seam::stages::train_test
