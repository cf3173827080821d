/// What networks in lanes must not do, and what a batch that fails leaves behind.
#include <torch/autograd.h>
#include <torch/types.h>
#include <seam/conformance_checks.hpp>
#include <seam/tensor_testing.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "tests/sdk/lanes_fixture.hpp"
#include "tests/support/matchers.hpp"

namespace seam::lanes_test {

using Named = test::Tensors;
using seam::testing::Harness;
using test::equal;

/// embedding ──► a field that lanes cannot provide
template <const auto& provided>
class UnfitStage final : public ModuleStage<torch::nn::Linear> {
 public:
  void declare(Declaration& d) override {
    d.doc("Provides no tensor by row.");
    d.needs(field::embedding);
    d.provides(provided);
    declare_module(d);
  }

 private:
  [[nodiscard]] torch::nn::Linear make() const override { return torch::nn::Linear(5, 2); }
  void forward(torch::nn::Linear& /*net*/, Packet& /*packet*/, Context& /*context*/) override {}
};

TEST(Lanes, ABatchThatIsSkippedLeavesNothingBehind) {
  Trial<NetStage> trial(recompute(3));
  trial.harness.open();
  const Named before = trial.state();
  const Packet made = trial.run(batch());
  loss_of(made.get(field::embedding)).backward();
  EXPECT_FALSE(equal(trial.state(), before));
  trial.harness.finish();
  EXPECT_TRUE(equal(trial.state(), before));
}

TEST(Lanes, AFieldThatIsNotATensorByRowIsRefusedWhenTheStageIsOpened) {
  EXPECT_REFUSED(Trial<UnfitStage<penalty>>(keep(2)).harness.open(), Fault::configuration,
                 "stage 'model' cannot compute in lanes, because its field 'penalty' (f32[])");
  EXPECT_REFUSED(Trial<UnfitStage<field::categories>>(keep(2)).harness.open(), Fault::configuration,
                 "its field 'categories' is provided and is not a tensor");
  Trial<UnfitStage<penalty>>().harness.open();
}

TEST(Lanes, ATensorThatIsWrittenToBeforeItsSecondPassIsRefused) {
  Trial<NetStage> trial(recompute(2));
  const Packet packet = batch();
  const Packet made = trial.run(packet);
  Tensor(packet.get(field::images)).add_(1);
  EXPECT_THROW(loss_of(made.get(field::embedding)).backward(), c10::Error);
}

TEST(Lanes, AGradientOfTheGradientIsRefused) {
  Trial<NetStage> trial(keep(2));
  const Packet made = trial.run(batch());
  const Tensor loss = loss_of(made.get(field::embedding));
  const Tensor& weight = trial.stage->net()->fc1->weight;
  EXPECT_REFUSED(torch::autograd::grad({loss}, {weight}, {}, true, /*create_graph=*/true),
                 Fault::configuration,
                 "stage 'model' computes in lanes, which have no gradient of the gradient");
}

TEST(Lanes, APacketThatANetworkDropsInALaterLaneIsDropped) {
  Trial<ScriptedStage> trial(recompute(4));
  trial.stage->before_net = [&](Packet& /*packet*/, Context& context) {
    if (trial.stage->calls == 2) context.drop("too dark");
  };
  trial.harness.push(vectors());
  ASSERT_EQ(trial.harness.drops().size(), 1U);
  EXPECT_EQ(trial.harness.drops()[0].reason, "too dark");
  EXPECT_THAT(trial.harness.outputs(), IsEmpty());
  EXPECT_EQ(trial.stage->calls, 2);
}

TEST(Lanes, AnExceptionInALaneLeavesNothingBehind) {
  Trial<NetStage> skipped(recompute(4));
  skipped.run(batch());
  loss_of(skipped.run(batch()).get(field::embedding)).backward();
  for (const int failing : {2, 6}) {  // in the forward pass, and when the lane is computed again
    Trial<NetStage> trial(recompute(4));
    int passes = 0;
    trial.stage->before_pass = [&] {
      if (++passes == failing) throw Error("the lane fails", Fault::data);
    };
    trial.harness.push(batch());
    if (failing == 2) {
      EXPECT_EQ(trial.harness.errors().size(), 1U);
    } else {
      ASSERT_EQ(trial.harness.outputs().size(), 1U);
      const Tensor loss = loss_of(trial.harness.outputs()[0].get(field::embedding));
      EXPECT_REFUSED(loss.backward(), Fault::data, "the lane fails");
    }
    loss_of(trial.run(batch()).get(field::embedding)).backward();
    EXPECT_TRUE(equal(trial.gradients(), skipped.gradients())) << failing;
    EXPECT_TRUE(equal(trial.state(), skipped.state())) << failing;
  }
}

TEST(Lanes, ANetworkThatRecordsMetricsInForwardIsRefused) {
  Trial<ScriptedStage> trial(keep(2));
  trial.stage->before_net = [](Packet& /*packet*/, Context& context) {
    context.metric("brightness", 0.5);
  };
  trial.harness.push(vectors());
  EXPECT_REFUSED(throw only_error(trial.harness), Fault::configuration,
                 "'brightness' in forward(), which computes several lanes of each batch");
  EXPECT_THAT(trial.harness.metrics(), IsEmpty());
  Trial<ScriptedStage> whole;
  whole.stage->before_net = trial.stage->before_net;
  whole.run(vectors());
  EXPECT_EQ(whole.harness.metric("brightness"), 0.5);
}

TEST(Lanes, AFieldThatOnlySomeLanesProvideIsRefused) {
  for (const int call : {1, 2}) {
    Trial<ScriptedStage> trial(keep(2));
    trial.stage->call_without_scores = call;
    trial.harness.push(vectors());
    EXPECT_REFUSED(throw only_error(trial.harness), Fault::configuration,
                   "provides field 'scores' in some lanes only")
        << call;
  }
}

TEST(Lanes, ASecondPassThatDropsTheBatchOrLacksAFieldIsAnError) {
  for (const bool drops : {true, false}) {
    Trial<ScriptedStage> trial(recompute(2));
    const Packet made = trial.run(vectors());
    trial.stage->call_without_scores = drops ? 0 : 4;
    trial.stage->before_net = [&](Packet& /*packet*/, Context& context) {
      if (drops) context.drop("too late");
    };
    EXPECT_REFUSED(made.get(scores).sum().backward(), drops ? Fault::data : Fault::configuration,
                   drops ? "it drops the batch, which it did not do before: too late"
                         : "computing a lane again: stage 'model' cannot compute in lanes");
  }
}

TEST(Lanes, ANetworkThatWritesIntoItsInputIsRefused) {
  for (const Lanes& lanes : {keep(2), recompute(2)}) {
    Trial<ScriptedStage> trial(lanes);
    trial.stage->before_net = [](Packet& packet, Context& /*context*/) {
      Tensor(packet.get(field::embedding)).sub_(0.5);
    };
    trial.harness.push(vectors());
    EXPECT_REFUSED(throw only_error(trial.harness), Fault::configuration,
                   "writes into a tensor that it reads");
  }
}

testing::Findings findings_of_conformance(
    const std::function<void(ScriptedStage&, const Packet&)>& before_net) {
  testing::Candidate candidate;
  candidate.name = "test.scripted";
  candidate.make = [before_net] {
    auto stage = std::make_unique<ScriptedStage>();
    stage->before_net = [before_net, &stage = *stage](Packet& rows, Context& /*context*/) {
      before_net(stage, rows);
    };
    return stage;
  };
  candidate.example.packets = [](Harness& /*harness*/) { return std::vector{vectors()}; };
  candidate.example.training = true;
  candidate.weights = &testing::weights_and_gradients;
  const auto checks = testing::conformance_checks();
  const auto check = std::ranges::find(checks, "GivesTheSameBytes", &testing::Check::name);
  return check->run(candidate);
}

TEST(Lanes, TheConformanceSuiteFindsANetworkThatDependsOnItsCalls) {
  EXPECT_THAT(findings_of_conformance([](ScriptedStage& /*stage*/, const Packet& /*rows*/) {}),
              IsEmpty());
  EXPECT_THAT(findings_of_conformance([](ScriptedStage& stage, const Packet& /*rows*/) {
                stage.factor = 1 + 0.1 * stage.calls;
              }),
              Contains("lanes that are computed again for the gradient: 'bias' differs"));
}

TEST(Lanes, TheConformanceSuiteFindsANetworkThatDependsOnTheLaneBefore) {
  const auto findings = findings_of_conformance([](ScriptedStage& stage, const Packet& rows) {
    const bool first_lane = rows.get(field::embedding)[0][0].item<float>() == 0;
    stage.factor = first_lane ? 2 : stage.factor + 1;
  });
  EXPECT_THAT(findings, ElementsAre(StartsWith("lanes shared out to two ranks, rank 0: "),
                                    StartsWith("lanes shared out to two ranks, rank 1: ")));
}

}  // namespace seam::lanes_test
