#include "stages/train/adam.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/stages/nn/gradient_check.hpp"

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
    const test::Threads threads(count);
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
  int accepted = 0;

  void declare(Declaration& d) override {
    d.offers<Trainable>(*this);
    d.keeps_state();
  }
  void process(Packet& /*packet*/, Context& /*context*/) override {}
  void save(Archive& archive) const override { put_tensor(archive, "weight", weight); }
  void load(const Archive& archive) override { get_tensor(archive, "weight", weight); }
  std::vector<NamedWeight> weights() override { return {{"weight", weight}}; }
  void batch_accepted() override { ++accepted; }
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
  EXPECT_THAT(harness.errors()[0].what(),
              HasSubstr("the loss is not finite at step 0 (inf); a smaller rate or clip_norm"));
  EXPECT_TRUE(torch::equal(model().weight, torch::zeros({4}))) << "the weights were changed";
}

TEST_F(AdamStage, ALossWithoutAGradientIsAnErrorThatSaysSo) {
  seam::testing::Harness harness("adam", std::make_unique<Adam>());
  prepare(harness);
  harness.push(packet(torch::ones({})));
  ASSERT_EQ(harness.errors().size(), 1U);
  EXPECT_THAT(harness.errors()[0].what(), HasSubstr("the loss has no gradient"));
}

TEST_F(AdamStage, AcceptsABatchAfterItsStep) {
  seam::testing::Harness harness("adam", std::make_unique<Adam>());
  prepare(harness);
  train(harness, 2);
  EXPECT_EQ(model().accepted, 2);
  const at::AutoGradMode gradients(true);
  harness.push(packet(model().loss() * std::numeric_limits<float>::infinity()));
  EXPECT_EQ(harness.errors().size(), 1U);
  EXPECT_EQ(model().accepted, 2);
}

/// The learning rate at steps 0, 1 and 1000, all in one epoch.
class AdamSchedule : public AdamStage {
 protected:
  std::vector<double> rates(std::int64_t epoch, const char* schedule,
                            std::optional<double> decay = {}) {
    seam::testing::Harness harness("adam", std::make_unique<Adam>());
    prepare(harness);
    harness.epoch(epoch).set("rate", Value{1e-3}).set("schedule", schedule);
    if (decay) harness.set("decay", Value{*decay});
    train(harness, 1001);
    const std::vector<double>& all = harness.metrics().at("rate");
    return {all.at(0), all.at(1), all.at(1000)};
  }
};

TEST_F(AdamSchedule, WithoutADecayEachScheduleHasAUsefulOne) {
  using ::testing::DoubleEq;
  using ::testing::DoubleNear;
  using ::testing::Each;
  using ::testing::ElementsAre;
  EXPECT_THAT(rates(5, "constant"), Each(DoubleEq(1e-3)));
  EXPECT_THAT(rates(0, "exponential"), Each(DoubleEq(1e-3)));
  EXPECT_THAT(rates(100, "exponential"), Each(DoubleNear(6.0577e-4, 1e-8)));  // 0.995^100
  EXPECT_THAT(rates(5, "inverse_time"),
              ElementsAre(DoubleEq(1e-3), DoubleNear(9.995e-4, 1e-9), DoubleNear(6.6667e-4, 1e-8)));
}

TEST_F(AdamSchedule, TakesAnotherDecay) {
  using ::testing::DoubleEq;
  using ::testing::Each;
  using ::testing::ElementsAre;
  EXPECT_THAT(rates(2, "exponential", 0.5), Each(DoubleEq(0.25e-3)));
  EXPECT_THAT(rates(0, "inverse_time", 0.001),
              ElementsAre(DoubleEq(1e-3), DoubleEq(1e-3 / 1.001), DoubleEq(0.5e-3)));
}

TEST_F(AdamSchedule, AConstantRateRefusesADecay) {
  seam::testing::Harness harness("adam", std::make_unique<Adam>());
  prepare(harness);
  harness.set("schedule", "constant").set("decay", Value{0.9});
  try {
    harness.open();
    FAIL() << "was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::configuration);
    EXPECT_THAT(error.what(), HasSubstr("`decay = 0.9` has no effect"));
  }
}

TEST_F(AdamSchedule, ADecayThatFitsTheOtherScheduleIsWarnedOf) {
  const auto warning = [&](const char* schedule, double decay) {
    seam::testing::Harness harness("adam", std::make_unique<Adam>());
    prepare(harness);
    harness.set("schedule", schedule).set("decay", Value{decay}).open();
    return harness.log().empty() ? std::string() : harness.log().front().text;
  };
  EXPECT_THAT(warning("inverse_time", 0.995), HasSubstr("divides the learning rate by 996"));
  EXPECT_THAT(warning("exponential", 5e-4), HasSubstr("multiplies the learning rate by 0.0005"));
  EXPECT_EQ(warning("inverse_time", 5e-4), "");
  EXPECT_EQ(warning("exponential", 0.96), "");
}

/// One optimizer in two training flows, each with a model of its own and perhaps a shared one.
class AdamOfTwoFlows : public ::testing::Test {
 protected:
  AdamOfTwoFlows()
      : a_("a", "test.model", std::make_unique<Model>()),
        b_("b", "test.model", std::make_unique<Model>()),
        shared_("shared", "test.model", std::make_unique<Model>()) {}

  static Model& model(StageRunner& runner) { return dynamic_cast<Model&>(runner.stage()); }
  /// As the host does: all flows' stages before open(), then each flow's own before it begins.
  void open(seam::testing::Harness& harness) {
    harness.training(true).upstream({&shared_, &a_, &b_}).open();
  }
  void flow(seam::testing::Harness& harness, const std::vector<StageRunner*>& stages, int steps) {
    harness.upstream(stages);
    for (int step = 0; step < steps; ++step) {
      const at::AutoGradMode gradients(true);
      Tensor loss = torch::zeros({});
      for (StageRunner* stage : stages) loss = loss + model(*stage).loss();
      Packet packet;
      packet.set(field::loss, loss);
      harness.push(packet);
    }
    harness.finish();
    ASSERT_TRUE(harness.errors().empty()) << harness.errors()[0].full_message();
  }
  [[nodiscard]] std::vector<Tensor> weights() {
    std::vector<Tensor> all;
    for (StageRunner* stage : {&a_, &b_, &shared_}) {
      all.push_back(model(*stage).weight.detach().clone());
    }
    return all;
  }
  void set_weights(const std::vector<Tensor>& values) {
    const torch::NoGradGuard no_gradient;
    std::size_t at = 0;
    for (StageRunner* stage : {&a_, &b_, &shared_}) model(*stage).weight.copy_(values[at++]);
  }

  StageRunner a_, b_, shared_;
};

TEST_F(AdamOfTwoFlows, TrainsTheWeightsOfEachInItsFlow) {
  seam::testing::Harness adam("adam", std::make_unique<Adam>());
  open(adam);
  flow(adam, {&a_}, 3);
  const Tensor after_first = model(a_).weight.detach().clone();
  EXPECT_GT(after_first[0].item<double>(), 0);
  EXPECT_TRUE(torch::equal(model(b_).weight, torch::zeros({4})));
  flow(adam, {&b_}, 3);
  EXPECT_TRUE(torch::equal(model(a_).weight, after_first)) << "another flow's weights were changed";
  // The moments begin at the weight's own first step, so both went the same way.
  EXPECT_TRUE(torch::equal(model(b_).weight, after_first));
  EXPECT_EQ(model(a_).accepted, 3);
  EXPECT_EQ(model(b_).accepted, 3);
}

TEST_F(AdamOfTwoFlows, KeepsOnePairOfMomentsForAWeightOfBothFlows) {
  seam::testing::Harness apart("adam", std::make_unique<Adam>());
  open(apart);
  flow(apart, {&a_, &shared_}, 2);
  flow(apart, {&shared_, &b_}, 2);
  const Tensor two_flows = model(shared_).weight.detach().clone();
  set_weights({torch::zeros({4}), torch::zeros({4}), torch::zeros({4})});
  seam::testing::Harness together("adam", std::make_unique<Adam>());
  open(together);
  flow(together, {&shared_}, 4);
  EXPECT_TRUE(torch::equal(model(shared_).weight, two_flows));
}

TEST_F(AdamOfTwoFlows, GoesOnFromItsSavedStateBitForBit) {
  seam::testing::Harness whole("adam", std::make_unique<Adam>());
  open(whole);
  flow(whole, {&a_, &shared_}, 3);  // b has not been trained when the state is saved
  const Archive saved = whole.runner().save();
  const std::vector<Tensor> middle = weights();
  const auto go_on = [&](seam::testing::Harness& adam) {
    flow(adam, {&b_}, 2);
    flow(adam, {&shared_, &a_}, 2);
    return weights();
  };
  const std::vector<Tensor> expected = go_on(whole);
  const Archive end = whole.runner().save();

  set_weights(middle);
  seam::testing::Harness resumed("adam", std::make_unique<Adam>());
  open(resumed);
  resumed.runner().load(saved);
  EXPECT_EQ(resumed.runner().save(), saved) << "before it trains";
  const std::vector<Tensor> actual = go_on(resumed);
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_TRUE(torch::equal(actual[i], expected[i]));
  EXPECT_EQ(resumed.runner().save(), end);
}

TEST_F(AdamOfTwoFlows, RefusesTheStateOfOtherModels) {
  seam::testing::Harness two("adam", std::make_unique<Adam>());
  open(two);
  flow(two, {&a_}, 1);
  flow(two, {&b_}, 1);
  seam::testing::Harness one("adam", std::make_unique<Adam>());
  one.training(true).upstream({&a_}).open();
  EXPECT_THROW(one.runner().load(two.runner().save()), Error);
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
