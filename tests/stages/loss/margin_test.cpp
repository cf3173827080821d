#include "stages/loss/margin.hpp"

#include <torch/types.h>
#include <seam/conformance.hpp>
#include <seam/tensor_testing.hpp>
#include <seam/testing.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/stages/loss/batch_loss_testing.hpp"
#include "tests/stages/named_categories.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::margin_test {

std::vector<Packet> batches(seam::testing::Harness& /*harness*/) {
  std::vector<Packet> packets(3);
  for (std::size_t at = 0; at < packets.size(); ++at) {
    packets[at].set(field::class_lengths,
                    (torch::arange(12.0F).view({3, 4}) * static_cast<float>(at + 1)).sin().abs());
    packets[at].set(field::categories, {3, 0, 2});
  }
  return packets;
}

const auto conformance = seam::testing::conformance<Margin>({
    .parameters = {{"top", test::Labels{1, 2}}},
    .packets = batches,
    .refused = {{{"present", 0.1}}, {{"top", test::Labels{0}}}},
});

class MarginLossTest : public seam::testing::EachDevice {};
SEAM_ON_EACH_DEVICE(MarginLossTest);

TEST_P(MarginLossTest, HandComputed) {
  // Present: max(0, 0.9 - 0.6)² = 0.09. Absent: 0.5 * (max(0, 0.3 - 0.1)² + 0) = 0.02.
  // Present: 0, since 0.95 > 0.9. Absent: 0.5 * (0.9² + 0.4²) = 0.485.
  const Tensor lengths =
      torch::tensor({{0.6, 0.3, 0.05}, {1.0, 0.5, 0.95}}, torch::kFloat64).to(device());
  const Tensor labels = torch::tensor({0, 2}, torch::kInt64).to(device());
  EXPECT_NEAR(margin_loss(lengths, labels, {}).item<double>(), (0.11 + 0.485) / 2, 1e-12);
}

TEST_P(MarginLossTest, EqualsLoopsAndItsGradientFiniteDifferences) {
  torch::manual_seed(1);
  const MarginSettings settings{0.8, 0.2, 0.7};
  const std::vector<std::int64_t> classes{4, 0, 2, 2, 1, 3};
  const Tensor labels = torch::tensor(classes, torch::kInt64).to(device());
  const std::vector<Tensor> lengths{
      torch::rand({6, 5}, torch::kFloat64).to(device()).requires_grad_(true)};
  const Tensor on_cpu = lengths[0].detach().to(torch::kCPU);
  const auto values = on_cpu.accessor<double, 2>();
  double sum = 0;
  for (std::int64_t row = 0; row < 6; ++row) {
    for (std::int64_t k = 0; k < 5; ++k) {
      const double present = std::max(0.0, 0.8 - values[row][k]);
      const double absent = std::max(0.0, values[row][k] - 0.2);
      sum +=
          k == classes[static_cast<std::size_t>(row)] ? present * present : 0.7 * absent * absent;
    }
  }
  EXPECT_NEAR(margin_loss(lengths[0], labels, settings).item<double>(), sum / 6, 1e-12);
  test::expect_gradients([&] { return margin_loss(lengths[0], labels, settings); }, lengths);
}

Packet batch(const std::vector<std::int64_t>& categories) {
  Packet packet;
  packet.set(field::class_lengths, torch::tensor({{0.9F, 0.5F, 0.1F}, {0.2F, 0.3F, 0.8F}}));
  packet.set(field::categories, categories);
  return packet;
}

TEST(MarginStage, RecordsTheAccuracyOfTheLongestCapsules) {
  auto measured = test::metrics_of<Margin>(batch({0, 1}), {{"top", test::Labels{2, 1, 2}}});
  EXPECT_DOUBLE_EQ(measured["accuracy"], 0.5);
  EXPECT_DOUBLE_EQ(measured["accuracy_2"], 1);
  EXPECT_NEAR(measured["loss"], (0.5 * 0.16 + 0.36 + 0.5 * (0.01 + 0.49)) / 2, 1e-6);
}

TEST(MarginStage, RefusesAnAccuracyThatIsAlwaysOne) {
  EXPECT_THAT(test::complaint<Margin>(batch({0, 1}), {{"top", test::Labels{1, 3}}}),
              HasSubstr("`top` contains 3, but there are 3 classes"));
}

TEST(MarginStage, RefusesCategoriesThatHaveNoCapsule) {
  for (const std::int64_t category : {-1, 3}) {
    EXPECT_THAT(test::complaint<Margin>(batch({0, category})), HasSubstr("row 1"));
  }
}

TEST(MarginStage, RefusesDataSetsThatNumberCategoriesInDifferentWays) {
  using Names = std::vector<std::string>;
  seam::testing::Harness one("items_a", std::make_unique<NamedCategories>(Names{"bag", "coat"}));
  seam::testing::Harness other("items_b", std::make_unique<NamedCategories>(Names{"coat", "bag"}));
  seam::testing::Harness margin("margin", std::make_unique<Margin>());
  one.open();
  other.open();
  margin.upstream({&one.runner(), &other.runner()}).push(batch({0, 1}));
  EXPECT_REFUSED(throw only_error(margin), Fault::configuration, "category 0 is 'bag' in one");
}

TEST(MarginStage, RefusesToTrainLengthsThatAnotherLossTrainsToBeItems) {
  seam::testing::Harness model("model", std::make_unique<NumberedModel>(field::class_lengths));
  dynamic_cast<NumberedModel&>(model.runner().stage())
      .vocabulary()
      .train(field::class_lengths.name, ClassLabels::item, "classes");
  seam::testing::Harness margin("margin", std::make_unique<Margin>());
  margin.upstream({&model.runner()});
  EXPECT_REFUSED(margin.open(), Fault::configuration,
                 "stage 'classes' compares the classes of `class_lengths` with items, but stage "
                 "'margin' compares them with categories");
}

}  // namespace seam::stages::margin_test
