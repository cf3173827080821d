#include "stages/loss/cross_batch_memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <seam/conformance.hpp>
#include <seam/tensor_testing.hpp>
#include <seam/testing.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "stages/loss/memory_loss.hpp"
#include "tests/stages/loss/expect_near.hpp"
#include "tests/stages/loss/metric_learning_golden.hpp"
#include "tests/stages/nn/gradient_check.hpp"

namespace seam::stages {
namespace cross_batch_memory_test {

using ::testing::HasSubstr;

Packet batch(const Tensor& embedding, const std::vector<std::string>& items) {
  Packet packet;
  packet.set(field::embedding, embedding);
  packet.set(field::items, items);
  return packet;
}

std::vector<Packet> batches() {
  std::vector<Packet> packets;
  for (const float factor : {1.F, 2.F, 3.F}) {
    packets.push_back(
        batch((torch::arange(20.0F).view({5, 4}) * factor).sin(), {"a", "b", "a", "b", "c"}));
  }
  return packets;
}

const auto conformance = seam::testing::conformance<CrossBatchMemory>({
    .packets = [](seam::testing::Harness&) { return batches(); },
    .without_effect = {{"start", "counts batches that an optimizer accepted; there is none here"}},
});

class MemoryLossTest : public seam::testing::EachDevice {};
SEAM_ON_EACH_DEVICE(MemoryLossTest);

TEST_P(MemoryLossTest, IsThatOfPytorchMetricLearning) {
  const at::AutoGradMode gradients(true);
  for (const test::MemoryGolden& golden : test::cross_batch_memory_golden()) {
    std::vector<Tensor> rows;
    std::vector<std::int64_t> labels;
    for (const test::MemoryGolden::Batch& step : golden.batches) {
      const auto count = static_cast<std::int64_t>(step.labels.size());
      const Tensor embedding = torch::tensor(step.embedding, torch::kFloat64)
                                   .view({count, -1})
                                   .to(device())
                                   .set_requires_grad(true);
      for (std::int64_t row = 0; row < count; ++row) rows.push_back(embedding.detach()[row]);
      labels.insert(labels.end(), step.labels.begin(), step.labels.end());
      const auto kept = std::min<std::ptrdiff_t>(golden.memory, std::ssize(rows));
      rows.erase(rows.begin(), rows.end() - kept);
      labels.erase(labels.begin(), labels.end() - kept);
      const MemoryLoss result =
          memory_loss(embedding, torch::stack(rows),
                      torch::tensor(labels, torch::kInt64).to(device()), golden.margin);
      result.loss.backward();
      EXPECT_NEAR(result.loss.item<double>(), step.loss, 1e-6);
      test::expect_near(embedding.grad(), step.gradient);
    }
  }
}

TEST_P(MemoryLossTest, ComparesNoRowWithItself) {
  // Only the batch's rows: one positive pair at 90°, in both directions, and no other pair with a
  // loss.
  const Tensor rows = torch::tensor({{1.0, 0.0}, {0.0, 2.0}, {-1.0, 0.0}}).to(device());
  const Tensor labels = torch::tensor({4, 4, 7}, torch::kInt64).to(device());
  const MemoryLoss result = memory_loss(rows, rows, labels, 0.5);
  EXPECT_DOUBLE_EQ(result.loss.item<double>(), 1);
  EXPECT_DOUBLE_EQ(result.positive_pairs.item<double>(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(result.negative_pairs.item<double>(), 0);
}

TEST_P(MemoryLossTest, ComparesWithWhatIsRemembered) {
  // One row: its item at 60° and another item at 37°, which is 0.8 - 0.5 too near.
  const Tensor row = torch::tensor({{3.0, 0.0}}).to(device());
  const Tensor memory =
      torch::tensor({{0.5, std::sqrt(0.75)}, {0.8, 0.6}, {3.0, 0.0}}, torch::kFloat64).to(device());
  const Tensor labels = torch::tensor({1, 2, 1}, torch::kInt64).to(device());
  const MemoryLoss result = memory_loss(row.to(torch::kFloat64), memory, labels, 0.5);
  EXPECT_NEAR(result.loss.item<double>(), 0.5 + 0.3, 1e-12);
}

TEST_P(MemoryLossTest, WhatIsNotFiniteMakesItNaN) {
  for (const double wrong :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Tensor embedding = torch::eye(4, torch::kFloat64).to(device());
    embedding[2][1] = wrong;
    const Tensor labels = torch::tensor({0, 0, 1, 2}, torch::kInt64).to(device());
    EXPECT_TRUE(std::isnan(memory_loss(embedding, embedding, labels, 0.5).loss.item<double>()));
  }
}

TEST_P(MemoryLossTest, GradientsAreThoseOfFiniteDifferences) {
  torch::manual_seed(5);
  const Tensor embedding = torch::randn({4, 5}, torch::kFloat64).to(device()).requires_grad_(true);
  const Tensor old = torch::randn({6, 5}, torch::kFloat64).to(device());
  const Tensor own = embedding.detach().clone();  // its values when it was remembered
  const Tensor labels = torch::tensor({0, 1, 2, 0, 1, 3, 0, 0, 1, 3}, torch::kInt64).to(device());
  test::expect_gradients(
      [&] {
        return memory_loss(embedding, torch::cat({old, own}), labels, 0.1).loss;
      },
      {embedding});
}

TEST(MemoryLoss, HasTheSameBytesForAnyNumberOfThreads) {
  torch::manual_seed(7);
  const torch::AutoGradMode gradients(true);
  const Tensor values = torch::randn({64, 128});
  const Tensor memory = torch::cat({torch::randn({4032, 128}), values});
  const Tensor labels = torch::randint(0, 50, {4096}, torch::kInt64);
  std::vector<Tensor> losses;
  std::vector<Tensor> results;
  for (const int count : {1, 2, 8}) {
    const test::Threads threads(count);
    const Tensor embedding = values.clone().requires_grad_(true);
    const MemoryLoss result = memory_loss(embedding, memory, labels, 0.1);
    result.loss.backward();
    losses.push_back(result.loss.detach());
    results.push_back(embedding.grad());
  }
  for (std::size_t other : {1U, 2U}) {
    EXPECT_TRUE(torch::equal(losses[0], losses[other]));
    EXPECT_TRUE(torch::equal(results[0], results[other]));
  }
}

/// The stage in a training flow, without an optimizer: the test decides which batches are accepted.
class Training {
 public:
  explicit Training(std::int64_t memory = 6, std::int64_t start = 0)
      : stage_("memory", "loss.cross_batch_memory", std::make_unique<CrossBatchMemory>()) {
    run_.services = &services_;
    run_.training = true;
    stage_.configure({{"memory", memory}, {"start", start}});
    stage_.open(run_);
    stage_.enter_thread(run_);
    stage_.begin(run_);
  }
  ~Training() { stage_.close(); }
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;
  Training(Training&&) = delete;
  Training& operator=(Training&&) = delete;

  enum class Counts : std::uint8_t { yes, no };

  /// Returns the loss, or the error of the batch.
  std::string step(Packet packet, Counts counts = Counts::yes) {
    const Outcome outcome = stage_.transform(run_, packet);
    if (!outcome) return outcome.error().what();
    if (counts == Counts::yes) dynamic_cast<Loss&>(stage_.stage()).batch_accepted();
    return std::to_string(packet.get(field::loss).item<double>());
  }
  [[nodiscard]] Archive save() const { return stage_.save(); }
  void load(const Archive& archive) { stage_.load(archive); }

 private:
  seam::testing::RecordingServices services_;
  RunState run_;
  StageRunner stage_;
};

Packet random_batch(std::uint64_t seed, const std::vector<std::string>& items) {
  torch::manual_seed(seed);
  return batch(torch::randn({static_cast<std::int64_t>(items.size()), 5}), items);
}

std::vector<Packet> some_batches() {
  return {random_batch(1, {"a", "a", "b", "b"}), random_batch(2, {"c", "a", "c"}),
          random_batch(3, {"b", "c", "a", "a"}), random_batch(4, {"d", "b"}),
          random_batch(5, {"d", "a", "c", "b"})};
}

TEST(CrossBatchMemory, RemembersTheLastRows) {
  Training training(6);
  Tensor rows;
  std::vector<std::string> items;
  for (const Packet& packet : some_batches()) {
    const Tensor& embedding = packet.get(field::embedding);
    rows = rows.defined() ? torch::cat({rows, embedding}) : embedding;
    items.insert(items.end(), packet.get(field::items).begin(), packet.get(field::items).end());
    const std::int64_t kept = std::min<std::int64_t>(6, rows.size(0));
    rows = rows.narrow(0, rows.size(0) - kept, kept);
    items.erase(items.begin(), items.end() - kept);
    std::vector<std::int64_t> labels;
    for (const std::string& item : items) labels.push_back(item[0]);
    const MemoryLoss expected =
        memory_loss(embedding, rows, torch::tensor(labels, torch::kInt64), 0.5);
    EXPECT_EQ(training.step(packet), std::to_string(expected.loss.item<double>()));
    EXPECT_TRUE(torch::equal(saved_tensor(training.save(), "memory"), rows));
  }
}

TEST(CrossBatchMemory, BeginsToRememberAfterSoManyBatches) {
  Training late(6, 2);
  const std::vector<Packet> all = some_batches();
  for (std::size_t at = 0; at < all.size(); ++at) {
    const std::string loss = late.step(all[at]);
    Training fresh;
    EXPECT_EQ(loss == fresh.step(all[at]), at <= 2) << at;
    EXPECT_EQ(late.save().has("memory"), at >= 2) << at;
  }
}

TEST(CrossBatchMemory, AResumedTrainingGoesOnTheSame) {
  const std::vector<Packet> all = some_batches();
  for (const std::int64_t start : {0, 1, 4}) {
    for (std::size_t stop = 0; stop <= all.size(); ++stop) {
      Training whole(6, start);
      for (std::size_t at = 0; at < stop; ++at) whole.step(all[at]);
      Training resumed(6, start);
      resumed.load(whole.save());
      EXPECT_EQ(resumed.save(), whole.save());
      for (std::size_t at = stop; at < all.size(); ++at) {
        EXPECT_EQ(resumed.step(all[at]), whole.step(all[at]));
      }
      EXPECT_EQ(resumed.save(), whole.save());
    }
  }
}

TEST(CrossBatchMemory, ABatchThatIsSkippedLeavesNoTrace) {
  const std::vector<Packet> all = some_batches();
  Training clean;
  Training training;
  for (const Packet& packet : all) {
    training.step(random_batch(9, {"x", "y", "x"}), Training::Counts::no);
    EXPECT_EQ(training.step(packet), clean.step(packet));
  }
  EXPECT_EQ(training.save(), clean.save());
}

TEST(CrossBatchMemory, AnEvaluationComparesWithinTheBatch) {
  seam::testing::Harness harness("memory", std::make_unique<CrossBatchMemory>());
  for (const Packet& packet : batches()) harness.push(packet);
  ASSERT_TRUE(harness.errors().empty());
  for (std::size_t at = 0; at < 3; ++at) {
    Training fresh;
    EXPECT_EQ(std::to_string(harness.outputs().at(at).get(field::loss).item<double>()),
              fresh.step(batches().at(at)));
  }
}

TEST(CrossBatchMemory, WhatCannotBeComparedIsRefused) {
  Training training(3);
  EXPECT_THAT(training.step(random_batch(1, {"a", "a", "b", "b"})),
              HasSubstr("the batch has 4 rows, but `memory` is 3"));
  EXPECT_THAT(training.step(random_batch(1, {"a", ""})), HasSubstr("has no item"));
  EXPECT_THAT(training.step(random_batch(1, {})), HasSubstr("no rows"));
  training.step(random_batch(1, {"a", "b"}));
  EXPECT_THAT(training.step(batch(torch::ones({2, 4}), {"a", "b"})),
              HasSubstr("embeddings have 4 values, but the remembered ones have 5"));
}

TEST(CrossBatchMemory, AStateThatDoesNotFitIsRefused) {
  Training training;
  for (const Packet& packet : some_batches()) training.step(packet);
  const auto refusal = [](std::int64_t memory, const Archive& saved) -> std::string {
    Training other(memory);
    try {
      other.load(saved);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal(6, training.save()), "accepted");
  EXPECT_EQ(refusal(7, training.save()), "accepted");
  EXPECT_THAT(refusal(5, training.save()),
              HasSubstr("the checkpoint remembers 6 rows, but `memory` is 5"));
  Archive damaged = training.save();
  damaged.put("items", std::string("a") + '\0');
  EXPECT_THAT(refusal(6, damaged), HasSubstr("the checkpoint is damaged"));
}

}  // namespace cross_batch_memory_test
}  // namespace seam::stages
