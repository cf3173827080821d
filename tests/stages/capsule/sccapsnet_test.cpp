#include "stages/capsule/sccapsnet.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

namespace seam::stages {
namespace {

using seam::testing::Harness;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Harness& tiny(Harness& harness) {
  return harness.set("classes", 5).set("width", 8).set("primary_channels", 64).compute_threads(1);
}

Packet evaluation_batch(const Tensor& images) {
  Packet packet;
  packet.set(field::images, images);
  return packet;
}

/// Two triplets; negatives are of other categories than their anchors.
Packet training_batch() {
  using enum Role;
  torch::manual_seed(1);
  Packet packet = evaluation_batch(torch::rand({6, 3, 32, 32}));
  packet.set(field::categories, std::vector<std::int64_t>{2, 2, 4, 0, 0, 1});
  packet.set(field::groups, std::vector<std::int64_t>{7, 7, 7, 8, 8, 8});
  packet.set(field::roles,
             std::vector<Role>{anchor, positive, negative, anchor, positive, negative});
  return packet;
}

const auto conformance = seam::testing::conformance<Sccapsnet>({
    .parameters = {{"classes", std::int64_t{5}},
                   {"width", std::int64_t{8}},
                   {"primary_channels", std::int64_t{64}}},
    .packets =
        [](seam::testing::Harness&) {
          return std::vector<Packet>{training_batch(), training_batch()};
        },
    .training = true,
    .refused = {{{"primary_channels", std::int64_t{65}}}},
});

/// Which of the 5 class capsules of a row are not zero.
std::vector<std::int64_t> kept(const Tensor& embedding, std::int64_t row) {
  std::vector<std::int64_t> result;
  for (std::int64_t k = 0; k < 5; ++k) {
    if (embedding[row].narrow(0, k * 16, 16).abs().sum().item<float>() > 0) result.push_back(k);
  }
  return result;
}

TEST(Sccapsnet, EvaluationGivesUnmaskedCapsulesAndPredictions) {
  Harness harness("model", std::make_unique<Sccapsnet>());
  tiny(harness).push(evaluation_batch(torch::rand({4, 3, 40, 24}))).finish();
  ASSERT_TRUE(harness.errors().empty()) << harness.errors()[0].full_message();
  const Packet& out = harness.outputs().at(0);
  EXPECT_EQ(out[field::capsules].sizes(), (std::vector<std::int64_t>{4, 5, 16}));
  EXPECT_EQ(out[field::embedding].sizes(), (std::vector<std::int64_t>{4, 80}));
  EXPECT_THAT(kept(out[field::embedding], 0), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_TRUE(torch::equal(out[field::predicted_category], out[field::class_lengths].argmax(1)));
  EXPECT_FALSE(out[field::embedding].requires_grad());
}

TEST(Sccapsnet, TrainingMasksWithTheAnchorsCategory) {
  Harness harness("model", std::make_unique<Sccapsnet>());
  tiny(harness).training(true).push(training_batch()).finish();
  ASSERT_TRUE(harness.errors().empty()) << harness.errors()[0].full_message();
  const Tensor& embedding = harness.outputs().at(0)[field::embedding];
  EXPECT_TRUE(embedding.requires_grad());
  for (const std::int64_t row : {0, 1, 2}) EXPECT_THAT(kept(embedding, row), ElementsAre(2)) << row;
  for (const std::int64_t row : {3, 4, 5}) EXPECT_THAT(kept(embedding, row), ElementsAre(0)) << row;
}

TEST(Sccapsnet, TrainingMasksWithEachOnesOwnCategoryWhereAsked) {
  Harness harness("model", std::make_unique<Sccapsnet>());
  tiny(harness).set("train_mask", "own_category").training(true).push(training_batch()).finish();
  EXPECT_THAT(kept(harness.outputs().at(0)[field::embedding], 2), ElementsAre(4));
}

TEST(Sccapsnet, MoreCategoriesThanClassesIsAnErrorThatSaysSo) {
  Harness harness("model", std::make_unique<Sccapsnet>());
  tiny(harness).set("classes", 2).training(true).push(training_batch()).finish();
  ASSERT_EQ(harness.errors().size(), 1U);
  EXPECT_THAT(harness.errors()[0].what(), HasSubstr("outside the model's 2 classes"));
}

TEST(Sccapsnet, SavedStateGivesTheSameModel) {
  const Tensor images = torch::rand({2, 3, 32, 32});
  Harness trained("model", std::make_unique<Sccapsnet>());
  tiny(trained).training(true).push(training_batch()).finish();  // moves the running statistics
  (void)trained.take_outputs();
  trained.training(false).push(evaluation_batch(images)).finish();

  Harness other("model", std::make_unique<Sccapsnet>());
  tiny(other).seed(99).open();
  other.runner().load(trained.runner().save());
  other.push(evaluation_batch(images)).finish();
  EXPECT_TRUE(torch::equal(other.outputs().at(0)[field::capsules],
                           trained.outputs().at(0)[field::capsules]));
}

TEST(Sccapsnet, AnotherArchitecturesStateIsRefused) {
  Harness narrow("model", std::make_unique<Sccapsnet>());
  tiny(narrow).open();
  Harness wide("model", std::make_unique<Sccapsnet>());
  tiny(wide).set("width", 16).open();
  EXPECT_THROW(wide.runner().load(narrow.runner().save()), Error);
}

TEST(Sccapsnet, OffersAllItsWeights) {
  Harness harness("model", std::make_unique<Sccapsnet>());
  harness.open();
  std::int64_t count = 0;
  for (const NamedWeight& weight : dynamic_cast<Sccapsnet&>(harness.runner().stage()).weights()) {
    EXPECT_TRUE(weight.tensor.requires_grad()) << weight.name;
    count += weight.tensor.numel();
  }
  EXPECT_EQ(count, 2425024);  // 2,425,536 less 512 running statistics
}

TEST(Sccapsnet, DropoutDependsOnSeedEpochAndPacket) {
  const auto run = [](std::uint64_t seed, std::int64_t epoch) {
    Harness harness("model", std::make_unique<Sccapsnet>());
    tiny(harness).seed(seed).epoch(epoch).training(true).push(training_batch()).finish();
    return harness.outputs().at(0)[field::capsules].detach();
  };
  EXPECT_TRUE(torch::equal(run(1, 0), run(1, 0)));
  EXPECT_FALSE(torch::equal(run(1, 0), run(1, 1)));
  EXPECT_FALSE(torch::equal(run(1, 0), run(2, 0)));
}

}  // namespace
}  // namespace seam::stages
