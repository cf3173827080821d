/// The common behaviour of all optimizers, tested with train.sgd and train.adam: accumulation,
/// gradients that cannot be used, decay and rates by weight.
#include "stages/train/optimizer.hpp"

#include <torch/types.h>
#include <torch/utils.h>
#include <seam/testing.hpp>

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "stages/train/adam.hpp"
#include "stages/train/gradient.hpp"
#include "stages/train/sgd.hpp"
#include "tests/stages/nn/gradient_check.hpp"
#include "tests/stages/train/made_up_model.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::optimizer_test {

using ::testing::DoubleNear;
using train_test::MadeUpModel;
using train_test::model_of;

constexpr float infinite = std::numeric_limits<float>::infinity();

class OptimizerTest : public ::testing::Test {
 protected:
  OptimizerTest() : model_("model", "test.model", std::make_unique<MadeUpModel>()) {}

  MadeUpModel& model() { return model_of(model_); }
  template <class Stage>
  std::unique_ptr<seam::testing::Harness> optimizer(std::int64_t accumulate) {
    auto harness = std::make_unique<seam::testing::Harness>("optimizer", std::make_unique<Stage>());
    harness->training(true).upstream({&model_}).set("accumulate", accumulate);
    return harness;
  }
  void push(seam::testing::Harness& harness, double target, float factor = 1) {
    const at::AutoGradMode gradients(true);
    harness.push(train_test::with_loss(model().loss(target) * factor));
  }
  double weight() { return model().weight[0].item<double>(); }
  void reset() {
    const torch::NoGradGuard no_gradient;
    model().weight.zero_();
    model().accepted = 0;
  }

  StageRunner model_;
};

TEST_F(OptimizerTest, AcceptsABatchBeforeItChangesTheWeights) {
  const auto sgd = optimizer<Sgd>(1);
  push(*sgd, 3);
  EXPECT_EQ(model().accepted, 1);
  EXPECT_EQ(model().weight_when_accepted, 0);
  EXPECT_NE(weight(), 0);
}

TEST_F(OptimizerTest, ThreadsDoNotChangeAByteOfAccumulatedGradients) {
  torch::manual_seed(2);
  const std::int64_t count_of_weights = 200003;  // a prime: no thread count divides it
  const std::vector<Tensor> slopes{torch::randn({count_of_weights}),
                                   torch::randn({count_of_weights}),
                                   torch::randn({count_of_weights})};
  const auto with_threads = [&](int count) {
    const test::Threads restored(count);
    // From 0 at a rate of 1 the weight is the gradient, down to its last bit.
    model().weight = torch::zeros({count_of_weights}).requires_grad_(true);
    const auto sgd = optimizer<Sgd>(3);
    sgd->set("rate", Value{1.0}).set("momentum", Value{0.0}).compute_threads(count);
    for (const Tensor& slope : slopes) {
      const at::AutoGradMode gradients(true);
      sgd->push(train_test::with_loss((model().weight * slope).sum()));
    }
    sgd->finish();
    EXPECT_TRUE(sgd->errors().empty());
    return model().weight.detach();
  };
  const Tensor one = with_threads(1);
  EXPECT_TRUE(torch::allclose(one, -(slopes[0] + slopes[1] + slopes[2]) / 3, 1e-5, 1e-6));
  for (const int threads : {2, 3, 5, 8}) EXPECT_TRUE(torch::equal(one, with_threads(threads)));
}

TEST_F(OptimizerTest, AStepFollowsTheMeanGradientOfTheAccumulatedBatches) {
  const auto sgd = optimizer<Sgd>(3);
  sgd->set("rate", Value{0.1}).set("momentum", Value{0.0}).set("gradient_norm", true);
  push(*sgd, 3);
  push(*sgd, 6);
  EXPECT_EQ(weight(), 0) << "before all batches arrived";
  push(*sgd, 0);
  EXPECT_NEAR(weight(), 0.1 * 2 * 3, 1e-6);  // slopes of 6, 12 and 0
  EXPECT_EQ(model().accepted, 3);
  sgd->finish();
  EXPECT_NEAR(weight(), 0.6, 1e-6);
  EXPECT_THAT(sgd->metrics().at("gradient_norm"), ElementsAre(DoubleNear(12, 1e-5)));
  EXPECT_EQ(sgd->metrics().at("rate").size(), 1U) << "one rate per step";
}

TEST_F(OptimizerTest, AccumulatedBatchesAreOneLargeBatchToAdam) {
  const auto many = optimizer<Adam>(4);
  for (const double target : {1.0, 2.0, 3.0, 6.0, 2.0, 2.0, 5.0, 5.0}) push(*many, target);
  many->finish();
  const double by_parts = weight();
  reset();
  const auto one = optimizer<Adam>(1);
  for (const double target : {3.0, 3.5}) push(*one, target);  // the means
  one->finish();
  EXPECT_NEAR(by_parts, weight(), 1e-7);
}

TEST_F(OptimizerTest, AtTheEndOfAFlowAStepIsTakenWithWhatIsThere) {
  const auto sgd = optimizer<Sgd>(4);
  sgd->set("rate", Value{0.1}).set("momentum", Value{0.0}).set("clip_norm", Value{1e6});
  push(*sgd, 3);
  push(*sgd, 6);
  EXPECT_EQ(weight(), 0);
  sgd->finish();
  EXPECT_NEAR(weight(), 0.1 * 2 * 4.5, 1e-6) << "the mean of two, not a quarter of their sum";
  EXPECT_NEAR(sgd->metric("gradient_norm"), 18, 1e-5);
}

TEST_F(OptimizerTest, NothingIsAccumulatedFromOneFlowToTheNext) {
  const auto sgd = optimizer<Sgd>(2);
  sgd->set("rate", Value{0.1}).set("momentum", Value{0.0});
  for (int flow = 0; flow < 2; ++flow) {
    reset();
    push(*sgd, 3);
    sgd->finish();
    EXPECT_NEAR(weight(), 0.6, 1e-6);
  }
}

TEST_F(OptimizerTest, ResumedBetweenFlowsTheAccumulationGoesOnBitForBit) {
  const std::vector<double> targets{3, 1, 7, 2, 5};
  const auto flow = [&](seam::testing::Harness& adam) {
    for (const double target : targets) push(adam, target);
    adam.finish();
  };
  const auto whole = optimizer<Adam>(2);
  flow(*whole);
  const Archive saved = whole->runner().save();
  const Tensor middle = model().weight.detach().clone();
  flow(*whole);
  const Tensor expected = model().weight.detach().clone();
  const Archive end = whole->runner().save();
  {
    const torch::NoGradGuard no_gradient;
    model().weight.copy_(middle);
  }
  const auto resumed = optimizer<Adam>(2);
  resumed->open();
  resumed->runner().load(saved);
  flow(*resumed);
  EXPECT_TRUE(torch::equal(model().weight, expected));
  EXPECT_EQ(resumed->runner().save(), end);
}

TEST_F(OptimizerTest, ABatchThatIsNoUseIsAsIfItHadNeverBeenAmongTheAccumulated) {
  const auto run = [&](bool spoilt, std::size_t position, float factor) {
    reset();
    const auto adam = optimizer<Adam>(3);
    for (std::size_t at = 0; at < 7; ++at) {
      if (spoilt && at == position) push(*adam, 1, factor);
      push(*adam, static_cast<double>(at));
    }
    adam->finish();
    EXPECT_EQ(adam->errors().size(), spoilt ? 1U : 0U);
    EXPECT_EQ(model().accepted, 7);
    return adam->runner().save();
  };
  const Archive clean = run(false, 0, 1);
  for (const float factor : {infinite, std::numeric_limits<float>::quiet_NaN(), 1e30F}) {
    for (const std::size_t position : {0U, 1U, 2U, 3U, 6U}) {
      EXPECT_EQ(run(true, position, factor), clean) << factor << " before batch " << position;
    }
  }
}

TEST_F(OptimizerTest, AGradientThatIsNotFiniteUnderALossThatIsIsRefused) {
  const auto sgd = optimizer<Sgd>(1);
  const at::AutoGradMode gradients(true);
  sgd->push(
      train_test::with_loss((model().loss() * 0).sqrt()));  // the root's slope at 0 is infinite
  EXPECT_THAT(only_error(*sgd).what(), HasSubstr("the gradient is not finite at step 0 (loss 0)"));
  EXPECT_EQ(weight(), 0);
  EXPECT_EQ(model().accepted, 0);
}

TEST_F(OptimizerTest, AVeryLongGradientIsRefusedOrClipped) {
  const auto refusing = optimizer<Sgd>(1);
  push(*refusing, 3, 1e20F);
  EXPECT_THAT(only_error(*refusing).what(), HasSubstr("the gradient is too large (norm 1.2e+21)"));
  const auto clipping = optimizer<Sgd>(1);
  clipping->set("clip_norm", Value{0.5}).set("rate", Value{1.0});
  push(*clipping, 3, 1e20F);
  EXPECT_TRUE(clipping->errors().empty());
  EXPECT_NEAR(weight(), 0.25, 1e-6);  // 0.5 over four equal slopes
}

TEST_F(OptimizerTest, DecayLeavesAloneWhatMatchesNoDecay) {
  // The loss reaches both; its slope at the bias is zero, so only the decay moves that.
  const auto bias_after = [&](const std::vector<std::string>& no_decay) {
    {
      const torch::NoGradGuard no_gradient;
      model().bias.fill_(1);
    }
    const auto sgd = optimizer<Sgd>(1);
    sgd->set("rate", Value{0.1}).set("weight_decay", Value{0.5}).set("no_decay", Value{no_decay});
    const at::AutoGradMode gradients(true);
    sgd->push(train_test::with_loss(model().loss() + (model().bias * 0).sum()));
    EXPECT_TRUE(sgd->errors().empty());
    return model().bias[0].item<double>();
  };
  EXPECT_NEAR(bias_after({}), 0.95, 1e-6);
  EXPECT_NEAR(bias_after({"*.weight"}), 0.95, 1e-6);
  EXPECT_EQ(bias_after({"*.bias"}), 1.0);
  EXPECT_EQ(bias_after({"*.weight", "dense.b*"}), 1.0);
}

TEST_F(OptimizerTest, AdamsDecayReachesItsStep) {
  // The slope is zero, so only the decay moves the weights.
  const auto weight_after = [&](bool decoupled, double decay) {
    {
      const torch::NoGradGuard no_gradient;
      model().weight.fill_(1);
    }
    const auto adam = optimizer<Adam>(1);
    adam->set("rate", Value{0.1})
        .set("weight_decay", Value{decay})
        .set("decoupled", Value{decoupled});
    push(*adam, 1);
    EXPECT_TRUE(adam->errors().empty());
    return weight();
  };
  EXPECT_EQ(weight_after(true, 0), 1.0);
  EXPECT_NEAR(weight_after(true, 0.5), 1 - 0.1 * 0.5, 1e-6) << "AdamW: rate * weight_decay";
  EXPECT_NEAR(weight_after(false, 0.5), 1 - 0.1, 1e-5) << "the penalty's slope, normalised";
}

TEST_F(OptimizerTest, APatternThatFitsNoWeightIsRefused) {
  const auto sgd = optimizer<Sgd>(1);
  sgd->set("no_decay", Value{std::vector<std::string>{"*.biases"}});
  EXPECT_REFUSED(push(*sgd, 3), Fault::configuration,
                 "no weight matches '*.biases' in `no_decay`; the weights are dense.weight, "
                 "dense.bias");
}

/// The warnings of an optimizer in a run with this many epochs and one training flow.
class UnreachedTest : public OptimizerTest {
 protected:
  UnreachedTest() {
    run_.services = &services_;
    run_.training = true;
    run_.epochs = 9;
    run_.flow = "train";
    sgd_.bind_upstream({&model_});
    sgd_.open(run_);
  }
  void flow(const std::string& name = "train", bool reaches_bias = false) {
    const at::AutoGradMode gradients(true);
    run_.flow = name;
    sgd_.enter_thread(run_);
    sgd_.begin(run_);
    Tensor loss = model().loss();
    if (reaches_bias) loss = loss + model().bias.sum();
    Packet packet = train_test::with_loss(loss);
    EXPECT_TRUE(static_cast<bool>(sgd_.consume(run_, packet)));
    More more = More::no;
    EXPECT_TRUE(static_cast<bool>(sgd_.finish(run_, nullptr, more)));
  }
  std::vector<std::string> warnings() {
    std::vector<std::string> texts;
    for (const auto& line : services_.lines) texts.push_back(line.text);
    return texts;
  }

  seam::testing::RecordingServices services_;
  RunState run_;
  StageRunner sgd_{"sgd", "train.sgd", std::make_unique<Sgd>()};
};

TEST_F(UnreachedTest, AWeightThatNoLossReachesIsNamedOnceAfterASecondFlow) {
  flow();
  EXPECT_THAT(warnings(), IsEmpty()) << "another training flow may reach it";
  flow();
  EXPECT_THAT(warnings(),
              ElementsAre("so far no loss has reached 1 weight of flow 'train', which keeps its "
                          "initial or imported values: dense.bias. Add a loss that depends on it, "
                          "or freeze or remove the part of the model that has it"));
  flow();
  EXPECT_EQ(warnings().size(), 1U);
}

TEST_F(UnreachedTest, AWeightThatAnotherFlowReachesIsNotNamed) {
  flow("first");
  flow("second", true);
  flow("first");
  EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(UnreachedTest, AWeightThatAnotherOptimizerChangesIsNotNamed) {
  flow();
  {
    const torch::NoGradGuard no_gradient;
    model().bias.add_(1);
  }
  flow();
  EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(OptimizerTest, AWeightsRateIsScaled) {
  model().rate_scale = 0.5;
  const auto sgd = optimizer<Sgd>(1);
  sgd->set("rate", Value{0.1}).set("momentum", Value{0.0});
  push(*sgd, 3);
  EXPECT_NEAR(weight(), 0.3, 1e-6);
  EXPECT_DOUBLE_EQ(sgd->metric("rate"), 0.1);
}

TEST_F(OptimizerTest, StateOfOtherMomentsIsRefused) {
  const auto plain = optimizer<Adam>(1);
  push(*plain, 3);
  plain->finish();
  const Archive saved = plain->runner().save();
  const auto amsgrad = optimizer<Adam>(1);
  amsgrad->set("amsgrad", true).open();
  EXPECT_REFUSED(amsgrad->runner().load(saved), Fault::data, "the saved state has no entry '");
  const auto sgd = optimizer<Sgd>(1);
  sgd->open();
  EXPECT_REFUSED(sgd->runner().load(saved), Fault::data,
                 "the saved state has no entry '0.dense.weight.velocity'");
}

TEST_F(OptimizerTest, MomentsOfWeightsThatAreFrozenNowAreLeftOut) {
  const auto train = [&](bool amsgrad) {
    const auto adam = optimizer<Adam>(1);
    adam->set("amsgrad", amsgrad);
    const at::AutoGradMode gradients(true);
    adam->push(train_test::with_loss(model().loss() + model().bias.sum()));
    adam->finish();
    return adam->runner().save();
  };
  const Archive saved = train(false);
  const auto again = optimizer<Adam>(1);
  model().frozen_bias = true;
  again->open();
  again->runner().load(saved);
  const Archive of_weight = again->runner().save();
  EXPECT_EQ(of_weight.get("0.dense.weight.mean", "f32").bytes,
            saved.get("0.dense.weight.mean", "f32").bytes);
  EXPECT_FALSE(of_weight.has("0.dense.bias.mean"));

  model().frozen_bias = false;
  const Archive with_largest = train(true);
  const auto plain = optimizer<Adam>(1);
  plain->open();
  EXPECT_REFUSED(plain->runner().load(with_largest), Fault::data,
                 "the checkpoint has '0.dense.bias.largest_square', which this optimizer does not "
                 "keep with its parameters; set them as in the run that wrote the checkpoint");
}

TEST_F(OptimizerTest, ADecayOfZeroThatOthersReferToIsWarnedOf) {
  seam::testing::RecordingServices services;
  RunState run;
  run.services = &services;
  run.epochs = 9;
  const auto warning = [&](const std::map<std::string, Value>& values) {
    services.lines.clear();
    StageRunner adam("adam", "train.adam", std::make_unique<Adam>());
    adam.configure(values);
    adam.bind_upstream({&model_});
    adam.open(run);
    adam.close();
    return services.lines.empty() ? std::string() : services.lines.front().text;
  };
  const std::vector<std::string> biases{"*.bias"};
  EXPECT_EQ(warning({{"no_decay", biases}, {"decoupled", true}, {"weight_decay", 0.1}}), "");
  EXPECT_EQ(warning({{"no_decay", biases}}),
            "`no_decay` has no effect, because `weight_decay` is 0");
  EXPECT_EQ(warning({{"decoupled", true}}),
            "`decoupled` has no effect, because `weight_decay` is 0");
}

TEST(GradientNorm, IsTheRootOfAllSquares) {
  EXPECT_DOUBLE_EQ(gradient_norm({torch::tensor({{3.0F}, {0.0F}}), torch::tensor({-4.0F})}), 5.0);
  EXPECT_DOUBLE_EQ(gradient_norm({torch::full({4}, 1e30F)}), 2 * static_cast<double>(1e30F));
}

TEST(GradientCheck, FindsTheLargestElementAndWhatIsNoNumber) {
  const Tensor loss = torch::full({}, 0.5F);
  EXPECT_DOUBLE_EQ(check_gradient(loss, {}).loss, 0.5);
  EXPECT_DOUBLE_EQ(check_gradient(loss, {}).largest, 0);
  const Tensor plain = torch::tensor({{1.0F, -4.0F}, {2.0F, 3.0F}});
  EXPECT_DOUBLE_EQ(check_gradient(loss, {torch::ones({3}), plain, torch::empty({0})}).largest, 4);
  for (const float bad : {infinite, -infinite, std::numeric_limits<float>::quiet_NaN()}) {
    for (const std::int64_t place : {0, 7, 999}) {
      const Tensor gradient = torch::ones({1000});
      gradient[place] = bad;
      EXPECT_FALSE(std::isfinite(check_gradient(loss, {plain, gradient, plain}).largest));
    }
  }
}

}  // namespace seam::stages::optimizer_test
