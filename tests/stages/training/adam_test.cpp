#include "stages/training/adam.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include "tests/stages/capsule/gradient_check.hpp"

namespace seam::stages {
namespace {

using ::testing::HasSubstr;

TEST(LearningRate, FollowsItsSchedule) {
  using enum LearningRateSchedule;
  EXPECT_DOUBLE_EQ(learning_rate(constant, 1e-3, 0.995, 7, 1000), 1e-3);
  EXPECT_DOUBLE_EQ(learning_rate(exponential, 1e-3, 0.995, 0, 1000), 1e-3);
  EXPECT_DOUBLE_EQ(learning_rate(exponential, 1e-3, 0.995, 2, 1000), 1e-3 * 0.995 * 0.995);
  EXPECT_DOUBLE_EQ(learning_rate(inverse_time, 1e-3, 5e-4, 9, 1000), 1e-3 / 1.5);
}

TEST(AdamStep, EqualsLibTorchsOptimizer) {
  torch::manual_seed(1);
  for (const double weight_decay : {0.0, 0.01}) {
    const Tensor start = torch::randn({40, 30});
    Tensor ours = start.clone();
    const Tensor theirs = start.clone().requires_grad_(true);
    torch::optim::Adam optimizer(
        {theirs}, torch::optim::AdamOptions(1e-3).eps(1e-7).weight_decay(weight_decay));
    const Tensor mean = torch::zeros_like(ours);
    const Tensor square = torch::zeros_like(ours);
    AdamSettings settings;
    settings.weight_decay = weight_decay;
    for (std::int64_t step = 1; step <= 20; ++step) {
      const Tensor gradient = torch::randn({40, 30});
      adam_step(ours, gradient, mean, square, step, settings);
      Tensor(theirs).mutable_grad() = gradient.clone();
      optimizer.step();
    }
    EXPECT_TRUE(torch::allclose(ours, theirs, 1e-5, 1e-6));
  }
}

TEST(AdamStep, ThreadsDoNotChangeAByte) {
  torch::manual_seed(2);
  const Tensor start = torch::randn({200003});  // a prime: no thread count divides it
  const Tensor gradient = torch::randn({200003});
  const auto with_threads = [&](int count) {
    const testing::Threads threads(count);
    Tensor weight = start.clone();
    const Tensor mean = torch::zeros_like(weight);
    const Tensor square = torch::zeros_like(weight);
    for (std::int64_t step = 1; step <= 3; ++step) {
      adam_step(weight, gradient, mean, square, step, {});
    }
    return weight;
  };
  const Tensor one = with_threads(1);
  for (const int threads : {2, 3, 5, 8}) EXPECT_TRUE(torch::equal(one, with_threads(threads)));
}

/// One weight w; the loss is the sum of (w - 3)².
class Model final : public Transform, public Trainable {
 public:
  Tensor weight = torch::zeros({4}).requires_grad_(true);

  void declare(Declaration& d) override {
    d.offers<Trainable>(*this);
    d.keeps_state();
  }
  void process(Packet& /*packet*/, Context& /*context*/) override {}
  void save(Archive& archive) const override { put_tensor(archive, "weight", weight); }
  void load(const Archive& archive) override { get_tensor(archive, "weight", weight); }
  std::vector<NamedWeight> weights() override { return {{"weight", weight}}; }
  [[nodiscard]] Tensor loss() const { return (weight - 3).square().sum(); }
};

const auto conformance = seam::testing::conformance<Adam>({
    .packets =
        [](seam::testing::Harness& adam) {
          const auto& model = dynamic_cast<Model&>(adam.upstream().at(0)->stage());
          std::vector<Packet> packets(3);
          for (Packet& packet : packets) packet.set(field::loss, model.loss());
          return packets;
        },
    .connect =
        [](seam::testing::Harness& adam) {
          auto model =
              std::make_shared<StageRunner>("model", "test.model", std::make_unique<Model>());
          adam.upstream({model.get()});
          return model;
        },
    .training = true,
});

class AdamStage : public ::testing::Test {
 protected:
  AdamStage() : upstream_("model", "test.model", std::make_unique<Model>()) {}

  Model& model() { return dynamic_cast<Model&>(upstream_.stage()); }
  void prepare(seam::testing::Harness& harness) { harness.training(true).upstream({&upstream_}); }
  Packet packet(const Tensor& loss) {
    Packet packet;
    packet.set(field::loss, loss);
    return packet;
  }
  void train(seam::testing::Harness& harness, int steps) {
    for (int step = 0; step < steps; ++step) {
      const at::AutoGradMode gradients(true);
      harness.push(packet(model().loss()));
    }
    harness.finish();
    ASSERT_TRUE(harness.errors().empty()) << harness.errors()[0].full_message();
  }

  StageRunner upstream_;
};

TEST_F(AdamStage, TrainsWhatStandsUpstream) {
  seam::testing::Harness harness("adam", std::make_unique<Adam>());
  prepare(harness);
  harness.set("rate", Value{0.1}).set("schedule", "constant");
  train(harness, 200);
  EXPECT_NEAR(model().weight[0].item<double>(), 3.0, 0.1);
  EXPECT_DOUBLE_EQ(harness.metric("rate"), 0.1);
}

TEST_F(AdamStage, ReportsTheGradientsNormBeforeClipping) {
  seam::testing::Harness harness("adam", std::make_unique<Adam>());
  prepare(harness);
  harness.set("clip_norm", Value{0.5});
  train(harness, 1);
  EXPECT_NEAR(harness.metric("gradient_norm"), 12.0, 1e-5);  // 4 slopes of -6
}

TEST_F(AdamStage, GoesOnFromItsSavedStateBitForBit) {
  seam::testing::Harness whole("adam", std::make_unique<Adam>());
  prepare(whole);
  train(whole, 3);
  const Archive saved = whole.runner().save();
  const Tensor middle = model().weight.detach().clone();
  train(whole, 3);
  const Tensor expected = model().weight.detach().clone();

  {
    const torch::NoGradGuard no_gradient;
    model().weight.copy_(middle);
  }
  seam::testing::Harness resumed("adam", std::make_unique<Adam>());
  prepare(resumed);
  resumed.open();
  resumed.runner().load(saved);
  EXPECT_EQ(resumed.runner().save(), saved) << "before it trains";
  train(resumed, 3);
  EXPECT_TRUE(torch::equal(model().weight, expected));
}

TEST_F(AdamStage, AnInfiniteLossIsAnErrorThatSaysWhatToDo) {
  seam::testing::Harness harness("adam", std::make_unique<Adam>());
  prepare(harness);
  harness.open();
  {
    const at::AutoGradMode gradients(true);
    harness.push(packet(model().loss() * std::numeric_limits<float>::infinity()));
  }
  ASSERT_EQ(harness.errors().size(), 1U);
  EXPECT_THAT(harness.errors()[0].what(), HasSubstr("the gradient is not finite at step 0"));
  EXPECT_TRUE(torch::equal(model().weight, torch::zeros({4}))) << "the weights were changed";
}

TEST(Adam, WithoutWeightsUpstreamIsAnError) {
  seam::testing::Harness harness("adam", std::make_unique<Adam>());
  harness.training(true);
  Packet packet;
  packet.set(field::loss, torch::zeros({}));
  EXPECT_THROW(harness.push(packet), Error);
}

}  // namespace
}  // namespace seam::stages
