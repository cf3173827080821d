/// The behaviour of seam::Loss for every loss, with losses made for this test.
#include <seam/loss.hpp>

#include <torch/types.h>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "tests/support/matchers.hpp"

namespace seam::stages::loss_test {

/// The mean of the embedding's squares.
class Squares final : public Loss {
 public:
  static constexpr std::string_view name = "loss.squares";

  void declare(Declaration& d) override {
    d.doc("Squares.");
    d.needs(field::embedding);
    declare_loss(d);
  }
  Tensor compute(const Packet& packet, Context& /*context*/) override {
    const Tensor& embedding = packet.get(field::embedding);
    measure("rows", static_cast<double>(embedding.size(0)));
    if (embedding.size(0) == 0) throw Error("no rows");
    return embedding.square().mean();
  }
};

/// Measures a weight itself, which optimizers change in place.
class Scaled final : public Loss {
 public:
  Tensor scale = torch::full({1}, 2.0F);

  void declare(Declaration& d) override {
    d.needs(field::embedding);
    declare_loss(d);
  }
  Tensor compute(const Packet& packet, Context& /*context*/) override {
    measure("scale", scale);
    return (packet.get(field::embedding) * scale).mean();
  }
};

/// Returns a value set by the test.
class Anything final : public Loss {
 public:
  explicit Anything(Tensor value) : value_(std::move(value)) {}
  void declare(Declaration& d) override { declare_loss(d); }
  Tensor compute(const Packet& /*packet*/, Context& /*context*/) override { return value_; }

 private:
  Tensor value_;
};

const auto conformance = seam::testing::conformance<Squares>({
    .packets =
        [](seam::testing::Harness&) {
          std::vector<Packet> packets(3);
          for (std::size_t at = 0; at < packets.size(); ++at) {
            packets[at].set(field::embedding,
                            torch::arange(6.0F).view({2, 3}) * static_cast<float>(at + 1));
          }
          return packets;
        },
});

Packet batch(const Tensor& embedding) {
  Packet packet;
  packet.set(field::embedding, embedding);
  return packet;
}

TEST(Loss, AddsItselfToTheLossBeforeIt) {
  const at::AutoGradMode gradients(true);
  const Tensor embedding = torch::tensor({{1.0F, 3.0F}}).requires_grad_(true);
  Packet packet = batch(embedding);
  packet.set(field::loss, embedding.sum() * 10);
  seam::testing::Harness harness("second", std::make_unique<Squares>());
  harness.training(true).set("weight", 0.5).push(packet);
  Tensor sum = harness.outputs().at(0)[field::loss];
  EXPECT_FLOAT_EQ(sum.item<float>(), 42.5F);  // 40 + 0.5 * 5
  sum.backward();
  EXPECT_TRUE(torch::allclose(embedding.grad(), torch::tensor({{10.5F, 11.5F}})));
  dynamic_cast<Squares&>(harness.runner().stage()).batch_accepted();
  harness.finish();
  EXPECT_DOUBLE_EQ(harness.metric("loss"), 5.0) << "only of this loss, not weighted";
  EXPECT_DOUBLE_EQ(harness.metric("total"), 42.5);
  EXPECT_DOUBLE_EQ(harness.metric("rows"), 1.0);
}

TEST(Loss, AloneItIsTheWeightedPart) {
  seam::testing::Harness harness("loss", std::make_unique<Squares>());
  harness.set("weight", 3.0).push(batch(torch::tensor({{1.0F, 3.0F}}))).finish();
  EXPECT_FLOAT_EQ(harness.outputs().at(0)[field::loss].item<float>(), 15.0F);
  EXPECT_DOUBLE_EQ(harness.metric("loss"), 5.0);
  EXPECT_DOUBLE_EQ(harness.metric("total"), 15.0);
}

TEST(Loss, OfWeightZeroIsMeasuredAndTrainsNothing) {
  const at::AutoGradMode gradients(true);
  const Tensor other = torch::tensor({2.0F}).requires_grad_(true);
  const Tensor embedding = torch::tensor({{1.0F, 3.0F}}).requires_grad_(true);
  Packet packet = batch(embedding);
  packet.set(field::loss, other.sum());
  seam::testing::Harness harness("off", std::make_unique<Squares>());
  harness.training(true).set("weight", 0.0).push(packet);
  dynamic_cast<Squares&>(harness.runner().stage()).batch_accepted();
  harness.push(batch(embedding)).finish();
  Tensor sum = harness.outputs().at(0)[field::loss];
  EXPECT_FLOAT_EQ(sum.item<float>(), 2.0F);
  sum.backward();
  EXPECT_TRUE(other.grad().defined());
  EXPECT_FALSE(embedding.grad().defined()) << "weight decay changes what has a gradient of zeros";
  EXPECT_DOUBLE_EQ(harness.metric("loss"), 5.0);
  EXPECT_FALSE(harness.outputs().at(1)[field::loss].requires_grad()) << "the only loss";
}

TEST(Loss, InTrainingRecordsWhatTheOptimizerAccepted) {
  seam::testing::Harness harness("loss", std::make_unique<Squares>());
  harness.training(true);
  auto& loss = dynamic_cast<Squares&>(harness.runner().stage());
  const auto push = [&](float value) { harness.push(batch(torch::full({1, 2}, value))); };
  push(1);
  loss.batch_accepted();
  push(100);  // skipped
  push(2);
  loss.batch_accepted();
  harness.push(batch(torch::empty({0, 2})));  // fails in compute()
  loss.batch_accepted();                      // for another batch of the flow
  push(3);                                    // skipped, the last one
  harness.finish();
  EXPECT_EQ(harness.errors().size(), 1U);
  EXPECT_THAT(harness.metrics().at("loss"), ElementsAre(1.0, 4.0));
  EXPECT_THAT(harness.metrics().at("total"), ElementsAre(1.0, 4.0));
  EXPECT_THAT(harness.metrics().at("rows"), ElementsAre(1.0, 1.0));
}

TEST(Loss, RecordsAWeightAsTheBatchWasComputedWithIt) {
  seam::testing::Harness harness("loss", std::make_unique<Scaled>());
  harness.training(true).push(batch(torch::ones({1, 2})));
  auto& loss = dynamic_cast<Scaled&>(harness.runner().stage());
  loss.batch_accepted();
  loss.scale.fill_(7);  // the optimizer's step
  harness.finish();
  EXPECT_THAT(harness.metrics().at("scale"), ElementsAre(2.0));
}

TEST(Loss, InEvaluationEachBatchCountsByItsRows) {
  const auto evaluated = [](const std::vector<std::int64_t>& sizes) {
    seam::testing::Harness harness("loss", std::make_unique<Squares>());
    const Tensor pictures = torch::arange(1.0F, 10.0F).view({9, 1});
    std::int64_t first = 0;
    for (const std::int64_t size : sizes) {
      harness.push(batch(pictures.narrow(0, first, size)));
      first += size;
    }
    harness.finish();
    EXPECT_EQ(harness.metrics().at("loss").size(), 1U) << "one value per flow";
    return harness.metric("loss");
  };
  EXPECT_NEAR(evaluated({9}), 285.0 / 9, 1e-5);
  EXPECT_NEAR(evaluated({8, 1}), 285.0 / 9, 1e-5);
  EXPECT_NEAR(evaluated({2, 3, 4}), 285.0 / 9, 1e-5);
}

TEST(Loss, IsAFloat32WhateverItIsComputedIn) {
  for (const auto type : {torch::kFloat64, torch::kBFloat16}) {
    seam::testing::Harness harness("loss", std::make_unique<Anything>(torch::full({}, 2.0, type)));
    harness.push(Packet()).finish();
    ASSERT_TRUE(harness.errors().empty()) << harness.errors()[0].full_message();
    EXPECT_EQ(harness.outputs().at(0)[field::loss].scalar_type(), torch::kFloat32);
  }
}

TEST(Loss, InEvaluationOneThatIsNotFiniteIsAnErrorOfItsBatch) {
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e38}) {
    const auto after = [value](bool training) {
      auto harness = std::make_unique<seam::testing::Harness>(
          "loss", std::make_unique<Anything>(torch::full({}, value)));
      harness->set("weight", 1e9).training(training);  // times 1e38 exceeds float32
      Packet packet;
      packet.set_origin({nullptr, 7, "shirt.jpg"});
      harness->push(packet).finish();
      return harness;
    };
    const auto evaluated = after(false);
    ASSERT_EQ(evaluated->errors().size(), 1U) << value;
    EXPECT_THAT(evaluated->errors()[0].full_message(),
                AllOf(HasSubstr("the loss of this batch is"), HasSubstr("shirt.jpg")));
    EXPECT_EQ(evaluated->errors()[0].fault(), Fault::data);
    EXPECT_TRUE(evaluated->metrics().empty());
    EXPECT_TRUE(after(true)->errors().empty()) << "rejecting it is the optimizer's task";
  }
}

TEST(Loss, OtherThanOneNumberIsAnErrorOfTheStage) {
  for (const Tensor& wrong :
       {Tensor(), torch::zeros({1}), torch::zeros({4, 4}), torch::zeros({}, torch::kInt64)}) {
    seam::testing::Harness harness("loss", std::make_unique<Anything>(wrong));
    harness.push(Packet());
    EXPECT_REFUSED(throw only_error(harness), Fault::internal,
                   "must return a scalar floating-point tensor");
  }
}

}  // namespace seam::stages::loss_test
