#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "sdk/tensor/lane_sharing.hpp"
#include "sdk/testing/thread_ranks.hpp"
#include "tests/sdk/network_trial.hpp"
#include "tests/support/matchers.hpp"

namespace seam::lane_sharing_test {

using detail::SharedTree;
using detail::Tensors;
using detail::tree_sum;
using seam::testing::ThreadRanks;
using test::image_batch;

inline constexpr Field<Tensor> maps{"maps", "f32[N,4,4,4]"};
inline constexpr Field<Tensor> longest{"longest", "i64[N]"};

/// A feature map in channels-last order, by a convolution with batch normalisation and a buffer
/// that depends on its last rows.
class TrunkImpl : public torch::nn::Module {
 public:
  TrunkImpl()
      : conv(register_module("conv",
                             torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 4, 3).padding(1)))),
        norm(register_module("norm", torch::nn::BatchNorm2d(4))),
        brightest(register_buffer("brightest", torch::zeros({}, torch::kInt64))) {}

  Tensor forward(const Tensor& images) {
    brightest.copy_(images.flatten().argmax());
    const Tensor made = norm(conv(images)).relu().contiguous(torch::MemoryFormat::ChannelsLast);
    return detached ? made.detach() : made;
  }

  torch::nn::Conv2d conv;
  torch::nn::BatchNorm2d norm;
  Tensor brightest;
  bool detached = false;
};
TORCH_MODULE(Trunk);

/// images ──► maps
class TrunkStage final : public ModuleStage<Trunk> {
 public:
  void declare(Declaration& d) override {
    d.doc("A trunk.");
    d.needs(field::images);
    d.accepts(field::indices);
    d.provides(maps);
    declare_module(d);
  }
  using ModuleStage::net;
  std::function<void(Packet& packet, Context& context)> before_net;
  int passes = 0;
  bool provides_nothing = false;

 private:
  [[nodiscard]] Trunk make() const override { return {}; }
  void forward(Trunk& net, Packet& packet, Context& context) override {
    ++passes;
    if (before_net) before_net(packet, context);
    if (context.dropped() || provides_nothing) return;
    packet.set(maps, net->forward(packet.get(field::images)));
  }
};

class HeadImpl : public torch::nn::Module {
 public:
  HeadImpl()
      : dropout(register_module("dropout", torch::nn::Dropout(0.5))),
        fc(register_module("fc", torch::nn::Linear(64, 5))) {}
  Tensor forward(const Tensor& x) { return fc(dropout(x.flatten(1))); }
  torch::nn::Dropout dropout;
  torch::nn::Linear fc;
};
TORCH_MODULE(Head);

/// maps ──► embedding, longest
class HeadStage final : public ModuleStage<Head> {
 public:
  void declare(Declaration& d) override {
    d.doc("A head.");
    d.needs(maps);
    d.provides(field::embedding).contract("f32[N,5]");
    d.provides(longest);
    declare_module(d);
  }
  using ModuleStage::net;

 private:
  [[nodiscard]] Head make() const override { return {}; }
  void forward(Head& net, Packet& packet, Context& /*context*/) override {
    const Tensor made = net->forward(packet.get(maps));
    packet.set(field::embedding, made);
    packet.set(longest, made.argmax(1));
  }
};

/// Weights, gradients, buffers and outputs by name.
using Numbers = test::Tensors;

/// A trunk and a head, as one rank sees them.
struct Trial {
  explicit Trial(const Lanes& lanes, bool training = true) {
    trunk.harness.seed(3).compute_threads(1).training(training).lanes(lanes);
    head.harness.seed(3).compute_threads(1).training(training).lanes(lanes);
  }
  test::NetworkTrial<TrunkStage> trunk{"trunk"};
  test::NetworkTrial<HeadStage> head{"head"};

  Packet run(const Packet& packet) { return head.run(trunk.run(packet)); }
  /// One step, with a loss in which each row depends on all others.
  Numbers step(const Packet& packet) {
    const Packet made = run(packet);
    const Tensor& embedding = made.get(field::embedding);
    const Tensor drawn = torch::rand(3);  // as by a stage that does not seed the generator
    embedding.matmul(embedding.t()).sub(1).square().mean().backward();
    trunk.stage->batch_accepted();
    head.stage->batch_accepted();
    Numbers numbers{{"maps", made.get(maps).detach()},
                    {"embedding", embedding.detach()},
                    {"longest", made.get(longest)},
                    {"drawn", drawn},
                    {"drawn again", torch::rand(3)}};
    numbers.merge(named("trunk.", trunk.state()));
    numbers.merge(named("gradient of trunk.", trunk.gradients()));
    numbers.merge(named("head.", head.state()));
    numbers.merge(named("gradient of head.", head.gradients()));
    return numbers;
  }
  static Numbers named(const std::string& prefix, const Numbers& numbers) {
    Numbers named;
    for (const auto& [name, tensor] : numbers) named[prefix + name] = tensor;
    return named;
  }
};

::testing::AssertionResult equal(const Numbers& a, const Numbers& b) {
  return test::equal(a, b, /*strides=*/true);
}

/// Three steps with batches of 22, 5 and 15 rows; the second batch has two lanes.
Numbers three_steps(Lanes lanes, Ranks* ranks) {
  lanes.ranks = ranks;
  Trial trial(lanes);
  Numbers numbers = trial.step(image_batch(22));
  numbers.merge(Trial::named("second.", trial.step(image_batch(5, 1))));
  numbers.merge(Trial::named("third.", trial.step(image_batch(15, 2))));
  return numbers;
}

TEST(SharedTree, PartsAreAsLargeAsRanksAllow) {
  const auto parts = [](std::size_t count, std::size_t world) {
    std::vector<std::vector<std::size_t>> all;
    const SharedTree tree(count, world);
    for (const SharedTree::Part& part : tree.parts()) {
      all.push_back({part.first, part.count, part.rank});
    }
    return all;
  };
  using P = std::vector<std::size_t>;
  EXPECT_THAT(parts(7, 1), ElementsAre(P{0, 7, 0}));
  EXPECT_THAT(parts(8, 2), ElementsAre(P{0, 4, 0}, P{4, 4, 1}));
  EXPECT_THAT(parts(4, 4), ElementsAre(P{0, 1, 0}, P{1, 1, 1}, P{2, 1, 2}, P{3, 1, 3}));
  EXPECT_THAT(parts(6, 2), ElementsAre(P{0, 2, 0}, P{2, 1, 0}, P{3, 1, 1}, P{4, 2, 1}));
  EXPECT_THAT(parts(5, 3), ElementsAre(P{0, 1, 0}, P{1, 1, 1}, P{2, 1, 1}, P{3, 1, 2}, P{4, 1, 2}));
}

TEST(SharedTree, AddsAsTheTreeDoes) {
  const auto term = [](std::size_t at) {
    return Tensors{torch::tensor(std::pow(7.F, static_cast<float>(at)) + 0.1F),
                   at == 2 ? torch::ones({}) : Tensor()};
  };
  for (std::size_t count = 1; count <= 9; ++count) {
    const Tensors expected = tree_sum(count, term);
    for (std::size_t world = 1; world <= count; ++world) {
      const SharedTree tree(count, world);
      std::vector<Tensors> sums;
      for (const SharedTree::Part& part : tree.parts()) {
        sums.push_back(tree_sum(part.count, term, part.first));
      }
      const Tensors sum = tree.sum(sums);
      EXPECT_TRUE(torch::equal(sum[0], expected[0])) << count << " by " << world;
      EXPECT_EQ(sum[1].defined(), count > 2);
    }
  }
}

TEST(LaneSharing, EachRankReceivesAboutTwiceTheBytesOfASum) {
  const Tensor like = torch::zeros({50, 4, 3, 3}).contiguous(torch::MemoryFormat::ChannelsLast);
  const auto term = [&](std::size_t lane) {
    const auto seed = static_cast<float>(lane + 1);
    const Tensor values = at::empty_like(like);
    values.copy_((torch::arange(like.numel()) * seed).sin().view(like.sizes()));
    return Tensors{values, lane == 5 ? torch::ones({7}) : Tensor(), Tensor()};
  };
  constexpr std::size_t lanes = 8;
  const Tensors expected = tree_sum(lanes, term);
  for (const int world : {2, 3, 8}) {
    ThreadRanks ranks(world);
    ranks.run([&](Ranks& own) {
      const detail::LaneSharing sharing(lanes, &own);
      const Tensors sums = sharing.sum_in_pieces("gradients", sharing.own_sums(term),
                                                 {like, torch::zeros({7}), torch::zeros({2})});
      EXPECT_TRUE(torch::equal(sums.at(0), expected[0]));
      EXPECT_EQ(sums[0].strides(), like.strides());
      EXPECT_TRUE(torch::equal(sums.at(1), expected[1]));
      EXPECT_FALSE(sums.at(2).defined());
      // Three ranks have five parts of the tree, not three.
      const double times =
          static_cast<double>(own.exchanged().bytes) / static_cast<double>(like.nbytes());
      EXPECT_LT(times, world == 3 ? 3 : 2.4);
    });
  }
}

TEST(LaneSharing, RanksGiveTheBytesOfOneProcess) {
  for (const LaneMemory memory : {LaneMemory::keep, LaneMemory::recompute}) {
    for (const std::int64_t lanes : {4, 6, 7}) {
      const Numbers expected = three_steps({lanes, memory}, nullptr);
      for (const int world : {1, 2, 3, 4}) {
        ThreadRanks ranks(world);
        std::vector<Numbers> found(static_cast<std::size_t>(world));
        ranks.run([&](Ranks& own) {
          found[static_cast<std::size_t>(own.rank())] = three_steps({lanes, memory}, &own);
        });
        for (const Numbers& of_rank : found) {
          EXPECT_TRUE(equal(of_rank, expected)) << lanes << " lanes, " << world << " ranks";
        }
        EXPECT_GT(ranks.bytes_sent(), 0U);
      }
    }
  }
  EXPECT_FALSE(equal(three_steps({4}, nullptr), three_steps({6}, nullptr)))
      << "the comparison compares nothing";
}

TEST(LaneSharing, RanksShareTheLanesOfAnEvaluation) {
  const auto evaluate = [](Trial& trial, std::int64_t rows) {
    const Packet made = trial.run(image_batch(rows));
    EXPECT_FALSE(made.get(field::embedding).requires_grad());
    return Numbers{{"maps", made.get(maps)},
                   {"embedding", made.get(field::embedding)},
                   {"longest", made.get(longest)}};
  };
  Trial one({4, LaneMemory::keep}, false);
  const Numbers expected = evaluate(one, 35);
  EXPECT_EQ(one.trunk.stage->passes, 4);
  const Numbers of_few_rows = evaluate(one, 15);
  EXPECT_EQ(one.trunk.stage->passes, 5) << "lanes have at least eight rows";
  ThreadRanks ranks(2);
  ranks.run([&](Ranks& own) {
    Trial trial({4, LaneMemory::keep, &own}, false);
    EXPECT_TRUE(equal(evaluate(trial, 35), expected)) << own.rank();
    EXPECT_EQ(trial.trunk.stage->passes, 2);
    EXPECT_TRUE(equal(evaluate(trial, 15), of_few_rows)) << own.rank();
    EXPECT_EQ(trial.trunk.stage->passes, 3) << "computed by all ranks";
  });
}

TEST(LaneSharing, AResultHasAGradientIfItHasOneOnAnotherRank) {
  const auto step_without_gradient_in_the_first_lane = [](Ranks* ranks) {
    Trial trial({2, LaneMemory::keep, ranks});
    trial.trunk.stage->before_net = [&](Packet& packet, Context& /*context*/) {
      trial.trunk.stage->net()->detached = packet.get(field::images)[0][0][0][0].item<float>() == 0;
    };
    return trial.step(image_batch(8));
  };
  const Numbers expected = step_without_gradient_in_the_first_lane(nullptr);
  EXPECT_TRUE(expected.at("gradient of trunk.norm.weight").defined());
  ThreadRanks ranks(2);
  ranks.run([&](Ranks& own) {
    EXPECT_TRUE(equal(step_without_gradient_in_the_first_lane(&own), expected)) << own.rank();
  });
}

TEST(LaneSharing, EachRankComputesItsOwnLanesOnly) {
  ThreadRanks ranks(3);
  std::vector<int> passes(3);
  ranks.run([&](Ranks& own) {
    Trial trial({4, LaneMemory::recompute, &own});
    (void)trial.step(image_batch(8));
    passes[static_cast<std::size_t>(own.rank())] = trial.trunk.stage->passes;
  });
  EXPECT_THAT(passes, ElementsAre(2, 2, 4));
}

TEST(LaneSharing, TheFirstLaneThatFailsOrDropsTheBatchDoesSoOnAllRanks) {
  const Numbers expected = three_steps({4}, nullptr);
  for (const bool drops : {false, true}) {
    ThreadRanks ranks(2);
    ranks.run([&](Ranks& own) {
      Trial trial({4, LaneMemory::keep, &own});
      trial.trunk.stage->before_net = [&](Packet& /*packet*/, Context& context) {
        if (own.rank() == 0 || trial.trunk.stage->passes != 2) return;
        if (drops) return context.drop("too dark");
        throw Error("the lane fails", Fault::configuration);
      };
      trial.trunk.harness.push(image_batch(22));
      if (drops) {
        ASSERT_THAT(trial.trunk.harness.drops(), SizeIs(1));
        EXPECT_EQ(trial.trunk.harness.drops()[0].reason, "too dark");
      } else {
        EXPECT_REFUSED(throw only_error(trial.trunk.harness), Fault::configuration,
                       own.rank() == 0 ? "rank 1: the lane fails" : "the lane fails");
      }
      // They continue together.
      trial.trunk.harness.finish();
      trial.trunk.stage->before_net = nullptr;
      const Numbers after = trial.step(image_batch(22));
      EXPECT_TRUE(torch::equal(after.at("embedding"), expected.at("embedding")));
    });
  }
}

TEST(LaneSharing, ALaneThatFailsWhenItIsComputedAgainFailsOnAllRanks) {
  ThreadRanks ranks(2);
  ranks.run([&](Ranks& own) {
    Trial trial({4, LaneMemory::recompute, &own});
    const Packet made = trial.run(image_batch(8));
    trial.trunk.stage->before_net = [&](Packet& /*packet*/, Context& /*context*/) {
      if (own.rank() == 0) throw Error("the lane fails");
    };
    EXPECT_REFUSED(made.get(field::embedding).sum().backward(), Fault::data,
                   std::string(own.rank() == 0 ? "" : "rank 0: ") +
                       "stage 'trunk', computing a lane again: the lane fails");
  });
}

TEST(LaneSharing, ALackOfMemoryIsNotABugOnAnyRank) {
  ThreadRanks ranks(2);
  ranks.run([&](Ranks& own) {
    Trial trial({2, LaneMemory::keep, &own});
    trial.trunk.stage->before_net = [&](Packet& /*packet*/, Context& /*context*/) {
      if (own.rank() == 1) throw std::bad_alloc();
    };
    trial.trunk.harness.push(image_batch(8));
    EXPECT_REFUSED(throw only_error(trial.trunk.harness), Fault::data,
                   "there is not enough memory");
  });
}

TEST(LaneSharing, AFieldThatOneRankLacksIsNamed) {
  ThreadRanks ranks(2);
  ranks.run([&](Ranks& own) {
    Trial trial({2, LaneMemory::keep, &own});
    trial.trunk.stage->provides_nothing = own.rank() == 1;
    trial.trunk.harness.push(image_batch(8));
    EXPECT_REFUSED(throw only_error(trial.trunk.harness), Fault::configuration,
                   "it provides field 'maps' in ");
  });
}

TEST(LaneSharing, BytesThatNobodyReadsAreAnError) {
  ThreadRanks ranks(2);
  ranks.run([&](Ranks& own) {
    const detail::LaneSharing sharing(2, &own);
    seam::testing::RecordingServices services;
    RunState run;
    run.services = &services;
    Context context(run, "model", 0);
    const auto read_one = [](detail::ByteReader& bytes, std::size_t /*rank*/) {
      (void)bytes.number();
    };
    const auto write = [](std::int64_t numbers) {
      return [numbers](detail::ByteWriter& bytes) {
        for (std::int64_t at = 0; at < numbers; ++at) bytes.number(at);
      };
    };
    sharing.share(
        "one", context, [] {}, write(1), read_one);
    EXPECT_REFUSED(sharing.share(
                       "two", context, [] {}, write(2), read_one),
                   Fault::internal, "a rank sent too many bytes");
  });
}

TEST(LaneSharing, RanksWithOtherWeightsInputsIntegersOrLanesPart) {
  enum class Other : std::uint8_t { weights, input, integers, lanes };
  for (const Other other : {Other::weights, Other::input, Other::integers, Other::lanes}) {
    ThreadRanks ranks(3);
    ranks.run([&](Ranks& own) {
      const auto has = [&](Other what) { return own.rank() == 2 && other == what; };
      Trial trial({4, LaneMemory::keep, &own});
      trial.trunk.harness.open();
      Packet packet = image_batch(8, has(Other::input) ? 1e-3F : 0);
      packet.set(field::indices, {0, 1, 2, 3, 4, 5, 6, has(Other::integers) ? 8 : 7});
      packet.set(field::groups, {0, 0, 0, 1, 1, 1, 2, 2});  // which the network does not read
      packet.set(field::roles, std::vector(8, has(Other::lanes) ? Role::anchor : Role::single));
      if (has(Other::weights)) {
        const torch::NoGradGuard no_gradient;
        trial.trunk.stage->net()->conv->bias[1] += 1e-6;
      }
      trial.trunk.harness.push(packet);
      ASSERT_THAT(trial.trunk.harness.errors(), SizeIs(1));
      const std::string message = trial.trunk.harness.errors()[0].full_message();
      EXPECT_THAT(message, HasSubstr("the ranks do not compute the same: rank 0 is at exchange 1, "
                                     "forward pass of stage 'trunk', packet 0 with 8 rows"));
      EXPECT_THAT(message, HasSubstr("rank 2 is at exchange 1, forward pass of stage 'trunk'"));
      EXPECT_TRUE(own.parted());
    });
  }
}

}  // namespace seam::lane_sharing_test
