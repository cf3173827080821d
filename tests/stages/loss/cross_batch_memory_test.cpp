#include "stages/loss/cross_batch_memory.hpp"

#include <torch/types.h>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/stages/loss/batch_loss_testing.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::cross_batch_memory_test {

using test::Labels;

const auto conformance = seam::testing::conformance<CrossBatchMemory>({
    .packets = [](seam::testing::Harness&) { return test::labelled_batches(); },
    .without_effect = {{"start", "counts batches that an optimizer accepted; there is none here"}},
});

class MemoryLossTest : public test::BatchLossTest {};
SEAM_ON_EACH_DEVICE(MemoryLossTest);

TEST_P(MemoryLossTest, IsThatOfPytorchMetricLearning) {
  const at::AutoGradMode gradients(true);
  for (const test::MemoryGolden& golden : test::cross_batch_memory_golden()) {
    std::vector<Tensor> remembered;
    Labels labels;
    for (const test::PairGolden& step : golden.batches) {
      const Tensor embedding = embedding_of(step);
      for (const Tensor& row : embedding.detach().unbind(0)) remembered.push_back(row);
      labels.insert(labels.end(), step.labels.begin(), step.labels.end());
      const auto kept = std::min<std::ptrdiff_t>(golden.memory, std::ssize(remembered));
      remembered.erase(remembered.begin(), remembered.end() - kept);
      labels.erase(labels.begin(), labels.end() - kept);
      expect_golden(memory_loss(embedding, torch::stack(remembered), labels, golden.margin),
                    embedding, step);
    }
  }
}

TEST_P(MemoryLossTest, ComparesNoRowWithItself) {
  // Only the batch's rows: one positive pair at 90°, in both directions, and no other pair with a
  // loss.
  const Tensor batch = rows({1, 0, 0, 2, -1, 0}, 3);
  const MeasuredLoss result = memory_loss(batch, batch, {4, 4, 7}, 0.5);
  EXPECT_DOUBLE_EQ(result.loss.item<double>(), 1);
  EXPECT_DOUBLE_EQ(test::measured(result, "positive_pairs"), 2.0 / 3);
  EXPECT_DOUBLE_EQ(test::measured(result, "negative_pairs"), 0);
}

TEST_P(MemoryLossTest, ComparesWithWhatIsRemembered) {
  // One row: its item at 60° and another item at 37°, which is 0.8 - 0.5 too near.
  const Tensor memory = rows({0.5, std::sqrt(0.75), 0.8, 0.6, 3, 0}, 3);
  const MeasuredLoss result = memory_loss(rows({3, 0}, 1), memory, {1, 2, 1}, 0.5);
  EXPECT_NEAR(result.loss.item<double>(), 0.5 + 0.3, 1e-12);
}

TEST_P(MemoryLossTest, WhatIsNotFiniteMakesItNaN) {
  expect_nan_of_what_is_not_finite([](const Tensor& embedding) {
    return memory_loss(embedding, embedding, {0, 0, 1, 2}, 0.5);
  });
}

TEST_P(MemoryLossTest, GradientsAreThoseOfFiniteDifferences) {
  torch::manual_seed(5);
  const Tensor embedding = random(4, 5);
  const Tensor old = torch::randn({6, 5}, torch::kFloat64).to(device());
  // The batch's values when they were remembered.
  const Tensor memory = torch::cat({old, embedding.detach().clone()});
  test::expect_gradients(
      [&] {
        return memory_loss(embedding, memory, {0, 1, 2, 0, 1, 3, 0, 0, 1, 3}, 0.1).loss;
      },
      {embedding});
}

TEST(MemoryLoss, HasTheSameBytesForAnyNumberOfThreads) {
  torch::manual_seed(7);
  const Tensor values = torch::randn({64, 128});
  const Tensor memory = torch::cat({torch::randn({4032, 128}), values});
  Labels labels;
  for (std::int64_t row = 0; row < 4096; ++row) labels.push_back(row * row % 50);
  test::expect_same_bytes_for_any_threads({values}, [&](const std::vector<Tensor>& inputs) {
    return memory_loss(inputs[0], memory, labels, 0.1);
  });
}

/// The stage in a training flow, without an optimizer: the test decides which batches are accepted.
struct Training : seam::testing::Harness {
  explicit Training(std::int64_t memory = 6, std::int64_t start = 0)
      : Harness("memory", std::make_unique<CrossBatchMemory>()) {
    set("memory", memory).set("start", start).training(true).open();
  }

  enum class Counts : std::uint8_t { yes, no };

  /// Returns the loss, or the error of the batch.
  std::string step(Packet packet, Counts counts = Counts::yes) {
    forget();
    push(std::move(packet));
    if (!errors().empty()) return errors()[0].what();
    if (counts == Counts::yes) dynamic_cast<Loss&>(runner().stage()).batch_accepted();
    return std::to_string(outputs().at(0).get(field::loss).item<double>());
  }
  Archive save() { return runner().save(); }
  void load(const Archive& archive) { runner().load(archive); }
};

Packet random_batch(std::uint64_t seed, const std::vector<std::string>& items) {
  torch::manual_seed(seed);
  return test::labelled(torch::randn({static_cast<std::int64_t>(items.size()), 5}), items);
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
    Labels labels;
    for (const std::string& item : items) labels.push_back(item[0]);
    const MeasuredLoss expected = memory_loss(embedding, rows, labels, 0.5);
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
  for (const Packet& packet : test::labelled_batches()) harness.push(packet);
  ASSERT_TRUE(harness.errors().empty());
  for (std::size_t at = 0; at < 3; ++at) {
    Training fresh;
    EXPECT_EQ(std::to_string(harness.outputs().at(at).get(field::loss).item<double>()),
              fresh.step(test::labelled_batches().at(at)));
  }
}

TEST(CrossBatchMemory, WhatCannotBeComparedIsRefused) {
  Training training(3);
  EXPECT_THAT(training.step(random_batch(1, {"a", "a", "b", "b"})),
              HasSubstr("the batch has 4 rows, but `memory` is 3"));
  EXPECT_THAT(training.step(random_batch(1, {"a", ""})), HasSubstr("has no item"));
  EXPECT_THAT(training.step(random_batch(1, {})), HasSubstr("no rows"));
  training.step(random_batch(1, {"a", "b"}));
  EXPECT_THAT(training.step(test::labelled(torch::ones({2, 4}), {"a", "b"})),
              HasSubstr("embeddings have 4 values, but the remembered ones have 5"));
}

TEST(CrossBatchMemory, AStateThatDoesNotFitIsRefused) {
  Training training;
  for (const Packet& packet : some_batches()) training.step(packet);
  const auto load = [](std::int64_t memory, const Archive& saved) { Training(memory).load(saved); };
  EXPECT_NO_THROW(load(6, training.save()));
  EXPECT_NO_THROW(load(7, training.save()));
  EXPECT_REFUSED(load(5, training.save()), Fault::configuration,
                 "the checkpoint remembers 6 rows, but `memory` is 5");
  Archive damaged = training.save();
  damaged.put("items", std::string("a") + '\0');
  EXPECT_REFUSED(load(6, damaged), Fault::data, "the checkpoint is damaged");
}

}  // namespace seam::stages::cross_batch_memory_test
