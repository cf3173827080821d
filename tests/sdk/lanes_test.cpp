#include <torch/autograd.h>
#include <torch/types.h>
#include <seam/backward.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sdk/tensor/lane_rows.hpp"
#include "sdk/tensor/lane_sharing.hpp"
#include "tests/sdk/lanes_fixture.hpp"
#include "tests/support/matchers.hpp"

namespace seam::lanes_test {

using detail::LaneRows;
using detail::lanes_of;
using detail::Tensors;
using detail::tree_sum;
using Named = test::Tensors;
using test::equal;

/// embedding ──► embedding, of a dense layer
class HeadStage final : public ModuleStage<torch::nn::Linear> {
 public:
  void declare(Declaration& d) override {
    d.doc("A dense layer.");
    d.needs(field::embedding).contract("f32[N,5]");
    d.provides(field::embedding).contract("f32[N,2]");
    declare_module(d);
  }
  using ModuleStage::net;

 private:
  [[nodiscard]] torch::nn::Linear make() const override { return torch::nn::Linear(5, 2); }
  void forward(torch::nn::Linear& net, Packet& packet, Context& /*context*/) override {
    packet.set(field::embedding, net->forward(packet.get(field::embedding)));
  }
};

using P = std::pair<std::int64_t, std::int64_t>;
std::vector<P> pairs(const std::vector<LaneRows>& lanes) {
  std::vector<P> all;
  for (const LaneRows& lane : lanes) all.emplace_back(lane.first, lane.count);
  return all;
}

TEST(LanesOf, RowsAreDividedEvenlyWithSomeInEach) {
  EXPECT_THAT(pairs(lanes_of(Packet(), 10, 4, 2)), ElementsAre(P(0, 3), P(3, 3), P(6, 2), P(8, 2)));
  EXPECT_THAT(pairs(lanes_of(Packet(), 5, 4, 2)), ElementsAre(P(0, 3), P(3, 2)));
  EXPECT_THAT(pairs(lanes_of(Packet(), 3, 4, 2)), ElementsAre(P(0, 3)));
  EXPECT_THAT(pairs(lanes_of(Packet(), 1, 4, 2)), IsEmpty());
  EXPECT_THAT(pairs(lanes_of(Packet(), 20, 4, 8)), ElementsAre(P(0, 10), P(10, 10)));
}

TEST(LanesOf, ATripletIsNotCutButAGroupWithoutRolesIs) {
  Packet packet;
  packet.set(field::groups, std::vector<std::int64_t>{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3});
  packet.set(field::roles, std::vector<Role>(12, Role::single));
  EXPECT_THAT(pairs(lanes_of(packet, 12, 3, 2)), ElementsAre(P(0, 4), P(4, 4), P(8, 4)));
  packet.set(field::roles, std::vector<Role>(12, Role::negative));
  EXPECT_THAT(pairs(lanes_of(packet, 12, 3, 2)), ElementsAre(P(0, 6), P(6, 3), P(9, 3)));
  EXPECT_THAT(pairs(lanes_of(packet, 12, 6, 2)), ElementsAre(P(0, 3), P(3, 3), P(6, 3), P(9, 3)));
  packet.set(field::groups, std::vector<std::int64_t>(12, -1));
  EXPECT_THAT(pairs(lanes_of(packet, 12, 3, 2)), ElementsAre(P(0, 4), P(4, 4), P(8, 4)));
}

TEST(LanesOf, AGroupOfOneRowHasNoLaneOfItsOwn) {
  Packet packet;
  packet.set(field::roles, std::vector<Role>(7, Role::anchor));
  packet.set(field::groups, std::vector<std::int64_t>{0, 0, 0, 1, 1, 1, 2});
  EXPECT_THAT(pairs(lanes_of(packet, 7, 3, 2)), ElementsAre(P(0, 3), P(3, 4)));
  packet.set(field::groups, std::vector<std::int64_t>{0, 0, 0, 1, 2, 2, 2});
  EXPECT_THAT(pairs(lanes_of(packet, 7, 3, 2)), ElementsAre(P(0, 3), P(3, 4)));
}

TEST(TreeSum, AddsInAFixedTree) {
  std::vector<Tensor> t;
  for (int at = 0; at < 7; ++at)
    t.push_back(torch::tensor(std::pow(7.F, static_cast<float>(at)) + 0.1F));
  std::vector<std::size_t> order;
  const auto sum_of = [&](std::size_t count) {
    order.clear();
    const auto term = [&](std::size_t at) {
      order.push_back(at);
      return Tensors{t[at], at == 2 ? t[at] : Tensor()};
    };
    return tree_sum(count, term);
  };
  EXPECT_TRUE(torch::equal(sum_of(4)[0], (t[0] + t[1]) + (t[2] + t[3])));
  EXPECT_TRUE(torch::equal(sum_of(6)[0], ((t[0] + t[1]) + (t[2] + t[3])) + (t[4] + t[5])));
  EXPECT_TRUE(torch::equal(sum_of(7)[0], ((t[0] + t[1]) + (t[2] + t[3])) + ((t[4] + t[5]) + t[6])));
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_TRUE(torch::equal(sum_of(7)[1], t[2]));
  EXPECT_FALSE(sum_of(2)[1].defined());
}

/// The same by a loop over the lanes: two passes of a second network, whose gradients are added as
/// they are written here.
struct ByHand {
  Named gradients, buffers;
  Tensor embedding, scores;

  ByHand(const Named& weights, const Packet& packet) {
    const Tensor& images = packet.get(field::images);
    const std::vector<LaneRows> lanes{{0, 3}, {3, 3}, {6, 2}, {8, 2}};
    Net net;
    const auto pass = [&](const LaneRows& lane) {
      set(net, weights);
      Random random{3, stream_of("model"), 0, static_cast<std::uint64_t>(lane.first) << 32U};
      torch::manual_seed(random.bits64());
      return net->forward(images.narrow(0, lane.first, lane.count));
    };
    Tensors embeddings, all_scores;
    for (const LaneRows& lane : lanes) {
      const auto [of_rows, some_scores] = pass(lane);
      embeddings.push_back(of_rows.detach());
      all_scores.push_back(some_scores.detach());
      const double share = static_cast<double>(lane.count) / 10;
      for (const char* name : {"norm.running_mean", "norm.running_var"}) {
        const Tensor part = net->named_buffers()[name].clone() * share;
        buffers[name] = buffers[name].defined() ? buffers[name] + part : part;
      }
    }
    embedding = torch::cat(embeddings).requires_grad_(true);
    scores = torch::cat(all_scores);
    const Tensor of_rows = torch::autograd::grad({loss_of(embedding)}, {embedding})[0];
    std::vector<Named> of_lanes;
    for (const LaneRows& lane : lanes) {
      const Tensor rows = pass(lane).first;
      for (Tensor& parameter : net->parameters()) parameter.mutable_grad() = Tensor();
      rows.backward(of_rows.narrow(0, lane.first, lane.count));
      of_lanes.emplace_back();
      for (const auto& item : net->named_parameters()) {
        of_lanes.back()[item.key()] = item.value().grad();
      }
    }
    for (auto& [name, first] : of_lanes[0]) {
      gradients[name] = !first.defined()
                            ? Tensor()
                            : (first + of_lanes[1][name]) + (of_lanes[2][name] + of_lanes[3][name]);
    }
  }

  static void set(Net& net, const Named& weights) {
    const torch::NoGradGuard no_gradient;
    for (const auto& [name, tensor] : detail::named_state(*net)) {
      Tensor(tensor).copy_(weights.at(name));
    }
  }
};

TEST(Lanes, AreALoopOverRowsWithGradientsAddedInATree) {
  for (const Lanes& lanes : {keep(4), recompute(4)}) {
    Trial<NetStage> trial(lanes);
    trial.harness.open();
    const ByHand by_hand(trial.state(), batch());
    const Packet made = trial.run(batch());
    EXPECT_TRUE(torch::equal(made.get(field::embedding), by_hand.embedding));
    EXPECT_TRUE(torch::equal(made.get(scores), by_hand.scores));
    EXPECT_TRUE(torch::equal(made.get(longest), by_hand.scores.argmax(1)));
    EXPECT_FALSE(made.get(longest).requires_grad());
    const Named forward_only = trial.state();
    loss_of(made.get(field::embedding)).backward();
    EXPECT_TRUE(equal(trial.gradients(), by_hand.gradients));
    EXPECT_FALSE(trial.gradients().at("head.weight").defined()) << "no loss reaches it";
    for (const auto& [name, value] : by_hand.buffers) {
      EXPECT_TRUE(torch::allclose(trial.state().at(name), value, 1e-5, 1e-6)) << name;
    }
    EXPECT_EQ(trial.state().at("norm.num_batches_tracked").item<std::int64_t>(), 1);
    EXPECT_TRUE(equal(trial.state(), forward_only)) << "the backward pass changed a buffer";
    EXPECT_TRUE(FieldTraits<Tensor>::equal(trial.state().at("mask"), Net()->mask));
  }
}

/// Gradients and state after two steps of the same batches.
std::pair<Named, Named> two_steps(const Lanes& lanes, Precision precision = Precision::float32,
                                  std::int64_t rows = 11) {
  Trial<NetStage> trial(lanes);
  trial.harness.precision(precision);
  for (const float offset : {0.F, 1.F}) {
    const Packet made = trial.run(batch(rows, offset));
    (loss_of(made.get(field::embedding)) + made.get(scores).square().sum()).backward();
    trial.stage->batch_accepted();
  }
  return {trial.gradients(), trial.state()};
}

TEST(Lanes, MemoryChangesNothing) {
  for (const Precision precision : {Precision::float32, Precision::bfloat16}) {
    const auto kept = two_steps(keep(4), precision);
    const auto recomputed = two_steps(recompute(4), precision);
    EXPECT_TRUE(equal(kept.first, recomputed.first));
    EXPECT_TRUE(equal(kept.second, recomputed.second));
  }
}

TEST(Lanes, OneLaneIsNone) {
  const auto none = two_steps({});
  for (const Lanes& lanes : {keep(1), recompute(1)}) {
    EXPECT_TRUE(equal(two_steps(lanes).first, none.first));
    EXPECT_TRUE(equal(two_steps(lanes).second, none.second));
  }
  EXPECT_FALSE(equal(two_steps(keep(2)).first, none.first)) << "the comparison compares nothing";
  EXPECT_TRUE(equal(two_steps(keep(4), Precision::float32, 3).first,
                    two_steps({}, Precision::float32, 3).first))
      << "a batch too small for lanes";
}

TEST(Lanes, ANetworkReadsTheRowsOfItsLane) {
  Trial<NetStage> trial(keep(2));
  Packet packet = batch(5);
  packet.set(field::categories, std::vector<std::int64_t>{7, 8, 9, 10, 11});
  trial.run(packet);
  EXPECT_THAT(trial.stage->categories_seen, ElementsAre(ElementsAre(7, 8, 9), ElementsAre(10, 11)));
}

TEST(Lanes, GradientsGoOnIntoTheStageBefore) {
  Named first_net, head;
  for (const Lanes& lanes : {Lanes(), keep(3), recompute(3)}) {
    // Without batch statistics and dropout, lanes differ from the whole batch only in rounding.
    const Value parts{std::vector<std::string>{"norm.*"}};
    Trial<NetStage> net(lanes);
    net.harness.set("freeze", parts).open();
    net.stage->net()->dropout->options.p(0);
    Trial<HeadStage> after(lanes, "head");
    const Packet made = after.run(net.run(batch(9)));
    loss_of(made.get(field::embedding)).backward();
    if (lanes == Lanes()) {
      first_net = net.gradients();
      head = after.gradients();
      continue;
    }
    for (const auto& [name, gradient] : first_net) {
      const Tensor found = net.gradients().at(name);
      ASSERT_EQ(found.defined(), gradient.defined()) << name;
      if (gradient.defined()) {
        EXPECT_TRUE(torch::allclose(found, gradient, 1e-4, 1e-6)) << name;
      }
    }
    for (const auto& [name, gradient] : head) {
      EXPECT_TRUE(torch::allclose(after.gradients().at(name), gradient, 1e-4, 1e-6)) << name;
    }
  }
}

TEST(Lanes, AFrozenNetworkHasNoGradient) {
  Trial<NetStage> trial(recompute(3));
  trial.harness.set("freeze", Value{std::vector<std::string>{"*"}}).open();
  const Named before = trial.state();
  const Packet made = trial.run(batch());
  EXPECT_FALSE(made.get(field::embedding).requires_grad());
  EXPECT_TRUE(equal(trial.state(), before));
  Trial<NetStage> whole;
  whole.harness.set("freeze", Value{std::vector<std::string>{"*"}});
  EXPECT_TRUE(torch::allclose(made.get(field::embedding), whole.run(batch()).get(field::embedding),
                              1e-5, 1e-6));
}

TEST(Lanes, EvaluationHasNone) {
  Trial<NetStage> trial(keep(2));
  trial.harness.training(false);
  Packet packet = batch(4);
  packet.set(field::categories, std::vector<std::int64_t>{1, 2, 3, 4});
  EXPECT_FALSE(trial.run(packet).get(field::embedding).requires_grad());
  EXPECT_THAT(trial.stage->categories_seen, ElementsAre(ElementsAre(1, 2, 3, 4)));
}

TEST(Lanes, AGraphThatIsRetainedHasTwoBackwardPasses) {
  for (const Lanes& lanes : {keep(3), recompute(3)}) {
    Trial<NetStage> trial(lanes);
    const Tensor loss = loss_of(trial.run(batch()).get(field::embedding));
    loss.backward({}, /*retain_graph=*/true);
    const Named once = trial.gradients();
    loss.backward();
    for (const auto& [name, gradient] : trial.gradients()) {
      if (!gradient.defined()) continue;
      EXPECT_TRUE(torch::equal(gradient, once.at(name) * 2)) << name;
    }
    EXPECT_THROW(loss.backward(), c10::Error);
  }
}

TEST(Lanes, AllDeclaredFieldsAreReadInAnyOrderOfTheDeclaration) {
  Trial<ScriptedStage> trial(keep(2));
  std::vector<std::vector<std::string>> seen;
  trial.stage->before_net = [&](Packet& packet, Context& /*context*/) {
    seen.push_back(packet.get(field::items));
  };
  Packet packet = vectors(4);
  packet.set(field::items, std::vector<std::string>{"a", "b", "c", "d"});
  trial.run(packet);
  EXPECT_THAT(seen, ElementsAre(ElementsAre("a", "b"), ElementsAre("c", "d")));
}

/// Keeps the least input in a buffer that begins as infinity, and scales by a buffer that it
/// changes without LibTorch noticing.
class BufferNetImpl : public torch::nn::Module {
 public:
  BufferNetImpl()
      : linear(register_module("linear", torch::nn::Linear(5, 3))),
        least(register_buffer("least", torch::tensor(INFINITY))),
        scale(register_buffer("scale", torch::ones({}))) {}
  Tensor forward(const Tensor& x) {
    least.copy_(torch::minimum(least, x.min()));
    scale.variable_data().copy_(x[0][0] + 2);
    return linear(x) * scale;
  }
  torch::nn::Linear linear;
  Tensor least;
  Tensor scale;
};
TORCH_MODULE(BufferNet);

class BufferStage final : public ModuleStage<BufferNet> {
 public:
  void declare(Declaration& d) override {
    d.doc("Changes buffers.");
    d.needs(field::embedding);
    d.provides(scores);
    declare_module(d);
  }
  using ModuleStage::net;

 private:
  [[nodiscard]] BufferNet make() const override { return {}; }
  void forward(BufferNet& net, Packet& packet, Context& /*context*/) override {
    packet.set(scores, net->forward(packet.get(field::embedding)));
  }
};

TEST(Lanes, BuffersOfALaneAreThoseOfItsGraphAndLeaveInfinity) {
  const Packet packet = vectors(8);
  const Tensor& x = packet.get(field::embedding);
  for (const Lanes& lanes : {keep(2), recompute(2)}) {
    Trial<BufferStage> trial(lanes);
    trial.run(packet).get(scores).sum().backward();
    EXPECT_FLOAT_EQ(trial.stage->net()->least.item<float>(),
                    (x.narrow(0, 0, 4).min() + x.narrow(0, 4, 4).min()).item<float>() / 2);
    const Tensor expected =
        x.narrow(0, 0, 4).sum(0) * (x[0][0] + 2) + x.narrow(0, 4, 4).sum(0) * (x[4][0] + 2);
    EXPECT_TRUE(torch::allclose(trial.gradients().at("linear.weight")[0], expected));
  }
}

TEST(Lanes, AResultHasAGradientIfItHasOneInALaterLane) {
  for (const Lanes& lanes : {keep(2), recompute(2)}) {
    Trial<ScriptedStage> trial(lanes);
    Packet packet = vectors(4);
    // The first lane's results do not depend on the weights.
    trial.stage->before_net = [&](Packet& rows, Context& /*context*/) {
      const bool first = rows.get(field::embedding)[0][0].item<float>() == 0;
      trial.stage->net()->weight.requires_grad_(!first);
      trial.stage->net()->bias.requires_grad_(!first);
    };
    const Packet made = trial.run(packet);
    made.get(scores).sum().backward();
    EXPECT_TRUE(torch::allclose(trial.gradients().at("weight")[0],
                                packet.get(field::embedding).narrow(0, 2, 2).sum(0)));
  }
}

/// The stages' nodes, and the outermost nodes that ran.
struct Nodes final : BackwardListener {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> made_by_net;
  std::set<std::uint64_t> outermost;
  int depth = 0;

  void made(std::string_view stage, std::uint64_t first, std::uint64_t end) override {
    if (stage == "model") made_by_net.emplace_back(first, end);
  }
  void entered(std::uint64_t node) override {
    if (depth++ == 0 && node != numberless) outermost.insert(node);
  }
  void left() override { --depth; }
};

TEST(Lanes, TheBackwardPassOfAllLanesBelongsToTheStage) {
  for (const Lanes& lanes : {keep(2), recompute(2)}) {
    Nodes nodes;
    const BackwardScope scope(&nodes);
    Trial<NetStage> trial(lanes);
    const Packet made = trial.run(batch());
    const Tensor loss = made.get(field::embedding).sum();
    {
      const detail::BackwardWatch watch("optimizer");
      loss.backward();
    }
    ASSERT_FALSE(nodes.made_by_net.empty());
    const auto [first, end] = nodes.made_by_net.back();  // of process()
    const auto of_net = std::count_if(
        nodes.outermost.begin(), nodes.outermost.end(),
        [first = first, end = end](std::uint64_t node) { return node >= first && node < end; });
    EXPECT_EQ(of_net, 1) << "the node of the lanes";
    EXPECT_EQ(nodes.outermost.size(), 2U) << "and that of sum()";
    EXPECT_EQ(nodes.depth, 0);
  }
}

}  // namespace seam::lanes_test
