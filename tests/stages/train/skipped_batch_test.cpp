/// A skipped batch, wherever it failed between the model and the optimizer, has no effect: the rest
/// of the training is bit-identical to one without the batch.
#include <gtest/gtest.h>
#include <torch/types.h>
#include <seam/testing.hpp>

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "stages/loss/triplet.hpp"
#include "stages/model/sccapsnet.hpp"
#include "stages/train/adam.hpp"

namespace seam::stages::skipped_batch_test {

constexpr float infinite = std::numeric_limits<float>::infinity();

/// Two triplets; the images depend only on the sequence number.
Packet training_batch(std::uint64_t sequence) {
  using enum Role;
  Random random(5, sequence);
  const Tensor images = torch::empty({6, 3, 32, 32});
  for (std::int64_t i = 0; i < images.numel(); ++i) {
    images.data_ptr<float>()[i] = static_cast<float>(random.uniform(0, 1));
  }
  Packet packet;
  packet.set_sequence(sequence);
  packet.set(field::images, images);
  packet.set(field::categories, std::vector<std::int64_t>{2, 2, 4, 0, 0, 1});
  packet.set(field::groups, std::vector<std::int64_t>{7, 7, 7, 8, 8, 8});
  packet.set(field::roles,
             std::vector<Role>{anchor, positive, negative, anchor, positive, negative});
  return packet;
}

/// The fault of a batch, and its location.
struct Poison {
  std::string name;
  std::function<void(Packet&)> before_model = [](Packet&) {};
  std::function<void(Packet&)> before_loss = [](Packet&) {};
  std::function<void(Packet&)> before_optimizer = [](Packet&) {};
};

std::vector<Poison> poisons() {
  Poison pixel{"a pixel that is not a number"};
  pixel.before_model = [](Packet& packet) {
    packet[field::images][0][0][5][5] = std::numeric_limits<float>::quiet_NaN();
  };
  Poison category{"a category that the model refuses after its pass"};
  category.before_model = [](Packet& packet) { packet[field::categories][0] = 9; };
  Poison group{"a group that the loss refuses"};
  group.before_loss = [](Packet& packet) { packet[field::groups][5] = 9; };
  Poison loss{"a loss that is infinite"};
  loss.before_optimizer = [](Packet& packet) {
    packet[field::loss] = packet[field::loss] * infinite;
  };
  // The root's slope at 0 is infinite, its value is not.
  Poison gradient{"a gradient that is not finite under a loss that is"};
  gradient.before_optimizer = [](Packet& packet) {
    packet[field::loss] = (packet[field::loss] * 0).sqrt();
  };
  Poison steep{"a gradient too long for float32"};
  steep.before_optimizer = [](Packet& packet) { packet[field::loss] = packet[field::loss] * 1e30; };
  return {pixel, category, group, loss, gradient, steep};
}

/// model -> triplet_loss -> adam, packet by packet as run by the host.
class Chain {
 public:
  Chain()
      : model_("model", "model.sccapsnet", std::make_unique<Sccapsnet>()),
        loss_("triplet_loss", "loss.triplet", std::make_unique<Triplet>()),
        adam_("adam", "train.adam", std::make_unique<Adam>()) {
    run_.services = &services_;
    run_.seed = 3;
    model_.configure({{"classes", std::int64_t{5}},
                      {"width", std::int64_t{8}},
                      {"primary_channels", std::int64_t{64}}});
    adam_.configure({{"weight_decay", 0.01}});
    adam_.bind_upstream({&model_, &loss_});
    for (StageRunner* stage : {&model_, &loss_, &adam_}) stage->open(run_);
  }
  ~Chain() {
    for (StageRunner* stage : {&model_, &loss_, &adam_}) stage->close();
  }
  Chain& operator=(Chain&&) = delete;  // not copyable

  void begin(bool training) {
    run_.training = training;
    model_.enter_thread(run_);
    for (StageRunner* stage : {&model_, &loss_, &adam_}) stage->begin(run_);
  }
  /// Returns whether the batch was accepted.
  bool train(std::uint64_t sequence, const Poison& poison = {}) {
    Packet packet = training_batch(sequence);
    poison.before_model(packet);
    if (!model_.transform(run_, packet)) return false;
    poison.before_loss(packet);
    if (!loss_.transform(run_, packet)) return false;
    poison.before_optimizer(packet);
    return static_cast<bool>(adam_.consume(run_, packet));
  }
  void end() {
    More more = More::no;
    for (StageRunner* stage : {&model_, &loss_, &adam_}) {
      EXPECT_TRUE(static_cast<bool>(stage->finish(run_, nullptr, more)));
    }
  }
  Tensor embedding() {
    Packet packet = training_batch(100);
    EXPECT_TRUE(static_cast<bool>(model_.transform(run_, packet)));
    return packet[field::embedding].detach().clone();
  }
  [[nodiscard]] std::vector<Archive> save() const { return {model_.save(), adam_.save()}; }
  [[nodiscard]] const seam::testing::RecordingServices& services() const { return services_; }

 private:
  seam::testing::RecordingServices services_;
  RunState run_;
  StageRunner model_;
  StageRunner loss_;
  StageRunner adam_;
};

TEST(SkippedBatch, InTheMiddleOfAFlowItLeavesNoTrace) {
  Chain clean;
  clean.begin(true);
  ASSERT_TRUE(clean.train(0));
  ASSERT_TRUE(clean.train(2));
  clean.end();
  for (const Poison& poison : poisons()) {
    Chain chain;
    chain.begin(true);
    ASSERT_TRUE(chain.train(0));
    EXPECT_FALSE(chain.train(1, poison)) << poison.name;
    ASSERT_TRUE(chain.train(2));
    chain.end();
    EXPECT_EQ(chain.save(), clean.save()) << poison.name;
    EXPECT_EQ(chain.services().metrics, clean.services().metrics) << poison.name;
  }
}

TEST(SkippedBatch, AtTheEndOfAFlowItLeavesNoTraceInWhatFollows) {
  Chain clean;
  clean.begin(true);
  ASSERT_TRUE(clean.train(0));
  clean.end();
  const std::vector<Archive> saved = clean.save();
  clean.begin(false);
  const Tensor embedding = clean.embedding();
  for (const Poison& poison : poisons()) {
    Chain chain;
    chain.begin(true);
    ASSERT_TRUE(chain.train(0));
    EXPECT_FALSE(chain.train(1, poison)) << poison.name;
    EXPECT_EQ(chain.save(), saved) << poison.name << ", saved before the flow has ended";
    chain.end();
    EXPECT_EQ(chain.save(), saved) << poison.name;
    EXPECT_EQ(chain.services().metrics, clean.services().metrics) << poison.name;
    chain.begin(false);
    EXPECT_TRUE(torch::equal(chain.embedding(), embedding)) << poison.name;
  }
}

TEST(SkippedBatch, AsTheFirstItLeavesNoTrace) {
  Chain clean;
  clean.begin(true);
  ASSERT_TRUE(clean.train(1));
  for (const Poison& poison : poisons()) {
    Chain chain;
    chain.begin(true);
    EXPECT_FALSE(chain.train(0, poison)) << poison.name;
    ASSERT_TRUE(chain.train(1));
    EXPECT_EQ(chain.save(), clean.save()) << poison.name;
  }
}

TEST(SkippedBatch, AFlowThatNoOptimizerFollowedSaysSo) {
  Chain chain;
  chain.begin(true);
  EXPECT_FALSE(chain.train(0, poisons().front()));
  chain.end();
  std::vector<std::string> warnings;
  for (const seam::testing::LogLine& line : chain.services().lines) {
    if (line.level == LogLevel::warning) warnings.push_back(line.text);
  }
  EXPECT_EQ(warnings,
            std::vector<std::string>{"no optimizer accepted any of the 1 training batch of this "
                                     "flow, so the running statistics are unchanged"});
}

}  // namespace seam::stages::skipped_batch_test
