#include "stages/train/adam.hpp"

#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "tests/stages/nn/gradient_check.hpp"
#include "tests/stages/train/made_up_model.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::adam_test {

using seam::testing::Harness;
using ::testing::DoubleNear;
using train_test::MadeUpModel, train_test::with_loss;

/// Twenty steps of our optimizer and of LibTorch's along the same gradients.
template <class Optimizer, class Options>
void expect_equal_to(const Options& options, const AdamSettings& settings, bool amsgrad) {
  const at::AutoGradMode gradients(true);
  torch::manual_seed(1);
  const Tensor start = torch::randn({40, 30});
  const Tensor ours = start.clone();
  const Tensor theirs = start.clone().requires_grad_(true);
  Optimizer optimizer({theirs}, options);
  const Tensor mean = torch::zeros_like(ours);
  const Tensor square = torch::zeros_like(ours);
  const Tensor largest = amsgrad ? torch::zeros_like(ours) : Tensor();
  for (std::int64_t step = 1; step <= 20; ++step) {
    // Smaller towards the end, so that the largest second moment is an old one.
    const Tensor gradient = torch::randn({40, 30}) / static_cast<double>(step);
    adam_step(ours, gradient, mean, square, step, settings, largest);
    Tensor(theirs).mutable_grad() = gradient.clone();
    optimizer.step();
  }
  EXPECT_TRUE(torch::allclose(ours, theirs, 1e-5, 1e-6))
      << "weight decay " << settings.weight_decay << ", amsgrad " << amsgrad;
  EXPECT_FALSE(torch::allclose(ours, start, 1e-3));
}

TEST(AdamStep, EqualsLibTorchsAdam) {
  for (const double weight_decay : {0.0, 0.01}) {
    for (const bool amsgrad : {false, true}) {
      AdamSettings settings;
      settings.weight_decay = weight_decay;
      expect_equal_to<torch::optim::Adam>(
          torch::optim::AdamOptions(1e-3).eps(1e-7).weight_decay(weight_decay).amsgrad(amsgrad),
          settings, amsgrad);
    }
  }
}

TEST(AdamStep, EqualsLibTorchsAdamW) {
  for (const double weight_decay : {0.0, 0.1}) {
    for (const bool amsgrad : {false, true}) {
      AdamSettings settings;
      settings.rate = 2e-2;
      settings.weight_decay = weight_decay;
      settings.decoupled = true;
      expect_equal_to<torch::optim::AdamW>(
          torch::optim::AdamWOptions(2e-2).eps(1e-7).weight_decay(weight_decay).amsgrad(amsgrad),
          settings, amsgrad);
    }
  }
}

TEST(AdamStep, InKerasFormAddsEpsilonBeforeTheBiasIsCorrected) {
  const double rate = 0.1;
  const double epsilon = 0.5;
  AdamSettings settings;
  settings.rate = rate;
  settings.epsilon = epsilon;
  settings.epsilon_form = EpsilonForm::keras;
  const Tensor weight = torch::tensor({1.0}, torch::kFloat64);
  const Tensor mean = torch::zeros_like(weight);
  const Tensor square = torch::zeros_like(weight);
  double expected = 1;
  double m = 0;
  double v = 0;
  const std::vector<double> gradients{3, -2, 0.5};
  for (std::size_t at = 0; at < gradients.size(); ++at) {
    const auto step = static_cast<std::int64_t>(at + 1);
    const auto t = static_cast<double>(step);
    m = 0.9 * m + 0.1 * gradients[at];
    v = 0.999 * v + 0.001 * gradients[at] * gradients[at];
    expected -= rate * std::sqrt(1 - std::pow(0.999, t)) / (1 - std::pow(0.9, t)) * m /
                (std::sqrt(v) + epsilon);
    adam_step(weight, torch::full({1}, gradients[at], torch::kFloat64), mean, square, step,
              settings);
    EXPECT_NEAR(weight.item<double>(), expected, 1e-14) << step;
  }
  // In the first step the effect of epsilon is 1 / sqrt(1 - 0.999) = 31.6 times as large as in
  // PyTorch.
  const auto first = [&](EpsilonForm form, double its_epsilon) {
    AdamSettings other = settings;
    other.epsilon_form = form;
    other.epsilon = its_epsilon;
    const Tensor at = torch::zeros({1}, torch::kFloat64);
    adam_step(at, torch::full({1}, 3.0, torch::kFloat64), torch::zeros_like(at),
              torch::zeros_like(at), 1, other);
    return at.item<double>();
  };
  EXPECT_NEAR(first(EpsilonForm::keras, 1e-3), first(EpsilonForm::pytorch, 1e-3 / std::sqrt(0.001)),
              1e-12);
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

const auto conformance = seam::testing::conformance<Adam>({
    .packets = [](Harness& adam) { return train_test::packets_of_upstream(adam, 3); },
    .connect = [](Harness& adam) { return train_test::connect_model(adam); },
    .second = {{"warm_up", std::int64_t{4}}},  // of 1 step: none
    .given = {{"decoupled", {{"weight_decay", 0.1}}}},
});

class AdamStage : public ::testing::Test {
 protected:
  AdamStage() { harness_.training(true).upstream({&upstream_}); }

  MadeUpModel& model() { return train_test::model_of(upstream_); }

  StageRunner upstream_{"model", "test.model", std::make_unique<MadeUpModel>()};
  Harness harness_{"adam", std::make_unique<Adam>()};
};

TEST_F(AdamStage, TrainsWhatStandsUpstream) {
  harness_.set("rate", Value{0.1}).set("schedule", "constant");
  train_test::train(harness_, 200);
  EXPECT_NEAR(model().weight[0].item<double>(), 3.0, 0.1);
  EXPECT_DOUBLE_EQ(harness_.metric("rate"), 0.1);
  EXPECT_FALSE(harness_.metrics().contains("gradient_norm"));
}

TEST_F(AdamStage, ReportsTheGradientsNormBeforeClipping) {
  harness_.set("clip_norm", Value{0.5});
  train_test::train(harness_, 1);
  EXPECT_NEAR(harness_.metric("gradient_norm"), 12.0, 1e-5);  // 4 slopes of -6
}

TEST_F(AdamStage, AnInfiniteLossIsAnErrorThatSaysWhatToDo) {
  harness_.open();
  {
    const at::AutoGradMode gradients(true);
    harness_.push(with_loss(model().loss() * std::numeric_limits<float>::infinity()));
  }
  EXPECT_THAT(
      only_error(harness_).what(),
      HasSubstr("the loss is not finite at step 0 (inf); no step has been taken yet, so the rate "
                "and clip_norm are not the cause; check the inputs and the initial weights"));
  EXPECT_TRUE(torch::equal(model().weight, torch::zeros({4}))) << "the weights were changed";
  EXPECT_EQ(model().accepted, 0);
}

TEST_F(AdamStage, ALossThatIsNotFiniteIsTheFaultOfWhoeverProvidedWhatItIsMadeOf) {
  const at::AutoGradMode gradients(true);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Packet of_input = with_loss(model().loss() * nan);
  of_input.set(field::images, torch::full({1, 3, 2, 2}, nan));
  Packet of_model = with_loss(model().loss() * nan);
  of_model.set(field::images, torch::ones({1, 3, 2, 2}));
  of_model.set(field::embedding, torch::ones({1, 4}, torch::requires_grad()) * nan);
  const Packet sound = with_loss(model().loss());
  const Packet later = with_loss(model().loss() * nan);
  for (const Packet& one : {of_input, of_model, sound, later}) harness_.push(one);
  ASSERT_EQ(harness_.errors().size(), 3U);
  EXPECT_THAT(
      harness_.errors()[0].what(),
      AllOf(HasSubstr("field 'images' is not finite either; check the stage that provides it and "
                      "its inputs"),
            Not(HasSubstr("clip_norm"))));
  EXPECT_THAT(
      harness_.errors()[1].what(),
      AllOf(HasSubstr("field 'embedding' is not finite either; check the stage that provides "
                      "it; no step has been taken yet"),
            HasSubstr("check the inputs and the initial weights")));
  EXPECT_THAT(harness_.errors()[2].what(),
              HasSubstr("the loss is not finite at step 1 (nan); a smaller rate or clip_norm"));
}

TEST_F(AdamStage, ALossWithoutAGradientIsAnErrorThatSaysSo) {
  harness_.push(with_loss(torch::ones({})));
  EXPECT_THAT(only_error(harness_).what(), HasSubstr("the loss has no gradient"));
}

TEST_F(AdamStage, FollowsItsSchedule) {
  harness_.epoch(100).set("rate", Value{1e-3}).set("warm_up", 2);
  train_test::train(harness_, 3);
  EXPECT_THAT(harness_.metrics().at("rate"),
              ElementsAre(DoubleNear(3.0288e-4, 1e-8), DoubleNear(6.0577e-4, 1e-8),
                          DoubleNear(6.0577e-4, 1e-8)));  // 0.995^100
}

TEST_F(AdamStage, RefusesParametersOfAnotherSchedule) {
  const auto refused = [](const char* schedule, const char* parameter, const Value& value) {
    Harness harness("adam", std::make_unique<Adam>());
    harness.set("schedule", schedule).set(parameter, value);
    EXPECT_REFUSED(harness.open(), Fault::configuration,
                   std::string("parameter '") + parameter +
                       "' of stage 'adam' has no effect with schedule = \"" + schedule);
  };
  refused("constant", "decay", Value{0.9});
  refused("cosine", "decay", Value{0.9});
  refused("exponential", "milestones", Value{std::vector<std::int64_t>{4}});
  refused("constant", "epochs", Value{std::int64_t{4}});
  refused("multi_step", "steps", Value{std::int64_t{4}});
  refused("constant", "least_rate", Value{1e-5});
}

TEST_F(AdamStage, MeasuresTheGradientWhereItIsAskedFor) {
  harness_.set("gradient_norm", true);
  train_test::train(harness_, 1);
  EXPECT_NEAR(harness_.metric("gradient_norm"), 12.0, 0.01);
}

/// One optimizer in two training flows, each with its own model and perhaps a shared one.
class AdamOfTwoFlows : public ::testing::Test {
 protected:
  static MadeUpModel& model(StageRunner& runner) { return train_test::model_of(runner); }
  /// As in the host: the stages of all flows before open(), then those of each flow before it
  /// begins.
  void open(Harness& harness) { harness.training(true).upstream({&shared_, &a_, &b_}).open(); }
  void flow(Harness& harness, const std::vector<StageRunner*>& stages, int steps) {
    harness.upstream(stages);
    for (int step = 0; step < steps; ++step) {
      const at::AutoGradMode gradients(true);
      Tensor loss = torch::zeros({});
      for (StageRunner* stage : stages) loss = loss + model(*stage).loss();
      harness.push(with_loss(loss));
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

  StageRunner a_{"a", "test.model", std::make_unique<MadeUpModel>()};
  StageRunner b_{"b", "test.model", std::make_unique<MadeUpModel>()};
  StageRunner shared_{"shared", "test.model", std::make_unique<MadeUpModel>()};
};

TEST_F(AdamOfTwoFlows, TrainsTheWeightsOfEachInItsFlow) {
  Harness adam("adam", std::make_unique<Adam>());
  open(adam);
  flow(adam, {&a_}, 3);
  const Tensor after_first = model(a_).weight.detach().clone();
  EXPECT_GT(after_first[0].item<double>(), 0);
  EXPECT_TRUE(torch::equal(model(b_).weight, torch::zeros({4})));
  flow(adam, {&b_}, 3);
  EXPECT_TRUE(torch::equal(model(a_).weight, after_first)) << "another flow's weights were changed";
  // The moments start at the weight's own first step, so both have the same values.
  EXPECT_TRUE(torch::equal(model(b_).weight, after_first));
  EXPECT_EQ(model(a_).accepted, 3);
  EXPECT_EQ(model(b_).accepted, 3);
}

TEST_F(AdamOfTwoFlows, KeepsOnePairOfMomentsForAWeightOfBothFlows) {
  Harness apart("adam", std::make_unique<Adam>());
  open(apart);
  flow(apart, {&a_, &shared_}, 2);
  flow(apart, {&shared_, &b_}, 2);
  const Tensor two_flows = model(shared_).weight.detach().clone();
  set_weights({torch::zeros({4}), torch::zeros({4}), torch::zeros({4})});
  Harness together("adam", std::make_unique<Adam>());
  open(together);
  flow(together, {&shared_}, 4);
  EXPECT_TRUE(torch::equal(model(shared_).weight, two_flows));
}

TEST_F(AdamOfTwoFlows, GoesOnFromItsSavedStateBitForBit) {
  Harness whole("adam", std::make_unique<Adam>());
  open(whole);
  flow(whole, {&a_, &shared_}, 3);  // b has not been trained when the state is saved
  const Archive saved = whole.runner().save();
  const std::vector<Tensor> middle = weights();
  const auto go_on = [&](Harness& adam) {
    flow(adam, {&b_}, 2);
    flow(adam, {&shared_, &a_}, 2);
    return weights();
  };
  const std::vector<Tensor> expected = go_on(whole);
  const Archive end = whole.runner().save();

  set_weights(middle);
  Harness resumed("adam", std::make_unique<Adam>());
  open(resumed);
  resumed.runner().load(saved);
  EXPECT_EQ(resumed.runner().save(), saved) << "before it trains";
  const std::vector<Tensor> actual = go_on(resumed);
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_TRUE(torch::equal(actual[i], expected[i]));
  EXPECT_EQ(resumed.runner().save(), end);
}

TEST_F(AdamOfTwoFlows, RefusesTheStateOfOtherModels) {
  Harness two("adam", std::make_unique<Adam>());
  open(two);
  flow(two, {&a_}, 1);
  flow(two, {&b_}, 1);
  Harness one("adam", std::make_unique<Adam>());
  one.training(true).upstream({&a_}).open();
  EXPECT_REFUSED(one.runner().load(two.runner().save()), Fault::data,
                 "the checkpoint has '1.dense.weight.mean', but no stage before this optimizer has "
                 "such a weight");
}

TEST(Adam, WithoutWeightsUpstreamIsAnError) {
  Harness harness("adam", std::make_unique<Adam>());
  harness.training(true);
  EXPECT_REFUSED(harness.push(with_loss(torch::zeros({}))), Fault::configuration,
                 "no stage before the optimizer has weights to train");
}

}  // namespace seam::stages::adam_test
