#include "stages/loss/cost_sensitive.hpp"

#include <torch/types.h>
#include <seam/conformance.hpp>
#include <seam/tensor_testing.hpp>
#include <seam/testing.hpp>

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/stages/loss/batch_loss_testing.hpp"
#include "tests/support/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::stages::cost_sensitive_test {

using Numbers = std::vector<std::int64_t>;

Packet batch(const Tensor& logits, const std::vector<std::int64_t>& categories) {
  Packet packet;
  packet.set(field::logits, logits);
  packet.set(field::categories, categories);
  return packet;
}

std::vector<Packet> batches() {
  std::vector<Packet> packets;
  for (const float factor : {1.F, 2.F, 3.F}) {
    packets.push_back(batch((torch::arange(12.0F).view({3, 4}) * factor).sin(), {3, 0, 2}));
  }
  return packets;
}

const auto conformance = seam::testing::conformance<CostSensitive>({
    .packets = [](seam::testing::Harness&) { return batches(); },
    .refused = {{{"costs", std::string("file")}},
                {{"costs", std::string("super_class")}},
                {{"super_classes", Numbers{0, 0, 1, 1}}},
                {{"within", 0.5}},
                {{"file", std::string("costs.csv")}},
                {{"costs", std::string("ordinal")}, {"labels", std::string("item")}}},
});

const auto ordinal_conformance = seam::testing::conformance<CostSensitive>({
    .name = "ordinal",
    .parameters = {{"costs", std::string("ordinal")}},
    .packets = [](seam::testing::Harness&) { return batches(); },
});

const auto item_conformance = seam::testing::conformance<CostSensitive>({
    .name = "items",
    .parameters = {{"labels", std::string("item")}},
    .packets =
        [](seam::testing::Harness&) {
          std::vector<Packet> packets = batches();
          for (Packet& packet : packets) packet.set(field::items, {"a", "b", "a"});
          return packets;
        },
    .training = true,  // in evaluation, an item that was never trained is rejected
});

/// M[label][k], element by element.
using Matrix = std::function<double(std::int64_t, std::int64_t)>;

double by_matrix(const Tensor& logits, const Numbers& labels, const Matrix& costs) {
  double sum = 0;
  for (std::int64_t row = 0; row < logits.size(0); ++row) {
    double all = 0;
    for (std::int64_t k = 0; k < logits.size(1); ++k)
      all += std::exp(logits[row][k].item<double>());
    for (std::int64_t k = 0; k < logits.size(1); ++k) {
      sum += costs(labels[static_cast<std::size_t>(row)], k) *
             std::exp(logits[row][k].item<double>()) / all;
    }
  }
  return sum / static_cast<double>(logits.size(0));
}

class CostSensitiveLossTest : public seam::testing::EachDevice {
 protected:
  void SetUp() override {
    if (IsSkipped()) return;
    torch::manual_seed(4);
    logits = (torch::randn({4, 5}, torch::kFloat64) * 2).to(device()).set_requires_grad(true);
    labels = torch::tensor(numbers, torch::kInt64).to(device());
    super_classes = torch::tensor(of_classes, torch::kInt64).to(device());
  }
  void expect(const Tensor& costs, const Matrix& matrix) const {
    EXPECT_NEAR(cost_sensitive_loss(logits, costs).item<double>(),
                by_matrix(logits.detach().cpu(), numbers, matrix), 1e-12);
  }

  const Numbers numbers{4, 0, 2, 2};
  const Numbers of_classes{7, 7, 1, 7, 1};
  Tensor logits, labels, super_classes;
};
SEAM_ON_EACH_DEVICE(CostSensitiveLossTest);

TEST_P(CostSensitiveLossTest, IsThatOfTheWholeMatrix) {
  expect(nominal_costs(logits, labels), [](auto y, auto k) { return y == k ? 0 : 1; });
  expect(ordinal_costs(logits, labels), [](auto y, auto k) {
    const auto apart = static_cast<double>(y - k) / 4;
    return apart * apart;
  });
  const auto of = [&](std::int64_t k) { return of_classes[static_cast<std::size_t>(k)]; };
  expect(super_class_costs(logits, labels, super_classes, 0.3), [&](auto y, auto k) {
    if (y == k) return 0.0;
    return of(y) == of(k) ? 0.3 : 1.0;
  });
}

TEST_P(CostSensitiveLossTest, OrdinalIsDistanceFromTheMeanAndVariance) {
  const Tensor p = logits.detach().softmax(1).cpu();
  const Tensor k = torch::arange(5, torch::kFloat64);
  const Tensor mean = (p * k).sum(1);
  const Tensor variance = (p * k.square()).sum(1) - mean.square();
  const Tensor expected = ((labels.cpu() - mean).square() + variance).mean() / 16;
  EXPECT_NEAR(cost_sensitive_loss(logits, ordinal_costs(logits, labels)).item<double>(),
              expected.item<double>(), 1e-12);
}

TEST_P(CostSensitiveLossTest, NominalIsTheProbabilityOfAMistake) {
  // softmax(log 3, 0) = (3/4, 1/4).
  const Tensor two = torch::tensor({{std::log(3.0), 0.0}}, torch::kFloat64).to(device());
  const Tensor second = torch::ones({1}, torch::kInt64).to(device());
  EXPECT_NEAR(cost_sensitive_loss(two, nominal_costs(two, second)).item<double>(), 0.75, 1e-12);
}

TEST(CostSensitiveLoss, HasTheSameBytesForAnyNumberOfThreads) {
  torch::manual_seed(7);
  const Tensor costs = torch::rand({256, 200});
  test::expect_same_bytes_for_any_threads({torch::randn({256, 200})},
                                          [&](const std::vector<Tensor>& inputs) -> MeasuredLoss {
                                            return {cost_sensitive_loss(inputs[0], costs), {}};
                                          });
}

TEST_P(CostSensitiveLossTest, GradientsAreThoseOfFiniteDifferences) {
  for (const Tensor& costs : {nominal_costs(logits, labels), ordinal_costs(logits, labels),
                              super_class_costs(logits, labels, super_classes, 0.3)}) {
    test::expect_gradients([&] { return cost_sensitive_loss(logits, costs); }, {logits});
  }
}

TEST(CostSensitiveStage, TakesCostsOfAFile) {
  const test::TemporaryFolder folder;
  auto measured = test::metrics_of<CostSensitive>(
      batch(torch::zeros({2, 3}), {1, 2}),
      {{"costs", std::string("file")},
       {"file", folder.write("costs.csv", "0, 2,1\r\n0.5,0,4\r\n1e1,3,0\r\n\n").string()},
       {"weight", 10.0}});
  EXPECT_NEAR(measured["loss"], (4.5 / 3 + 13.0 / 3) / 2, 1e-6);
  EXPECT_NEAR(measured["total"], 10 * (4.5 / 3 + 13.0 / 3) / 2, 1e-5);
}

/// The error of a batch, or of opening the stage, or "accepted".
std::string complaint(const Packet& packet, const std::map<std::string, Value>& parameters) {
  try {
    return test::complaint<CostSensitive>(packet, parameters);
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(CostSensitiveStage, AFileThatIsNoMatrixIsRefused) {
  const Packet packet = batch(torch::zeros({1, 2}), {0});
  const auto of_file = [&](const std::string& text) {
    const test::TemporaryFolder folder;
    return complaint(packet, {{"costs", std::string("file")},
                              {"file", folder.write("costs.csv", text).string()}});
  };
  EXPECT_EQ(of_file("0,1\n1,0\n"), "accepted");
  EXPECT_EQ(of_file("0,1\n1,0"), "accepted");
  EXPECT_THAT(of_file(""), HasSubstr("there are no costs"));
  EXPECT_THAT(of_file("0,1\n"), HasSubstr("costs.csv:1: 2 numbers, and 1 line"));
  EXPECT_THAT(of_file("0,1\n1,0,1\n"), HasSubstr("costs.csv:2: 3 numbers, and 2 lines"));
  EXPECT_THAT(of_file("0,1\n1,-1\n"), HasSubstr("costs.csv:2: '-1' is not a cost"));
  EXPECT_THAT(of_file("0,nan\n1,0\n"), HasSubstr("costs.csv:1: 'nan' is not a cost"));
  EXPECT_THAT(of_file("0,1x\n1,0\n"), HasSubstr("'1x' is not a cost"));
  EXPECT_THAT(of_file("0,\n1,0\n"), HasSubstr("'' is not a cost"));
  EXPECT_THAT(of_file("0,1\n\n1,0\n"), HasSubstr("costs.csv:2: '' is not a cost"));
  EXPECT_THAT(of_file("1,0\n0,1\n"), HasSubstr("class 0 has a cost other than 0 for itself"));
  EXPECT_THAT(of_file("0,1,1\n1,0,1\n1,1,0\n"),
              HasSubstr("costs for 3 classes, but logits for 2; change `file`"));
  EXPECT_THAT(complaint(packet, {{"costs", std::string("file")},
                                 {"file", std::string("/nowhere/costs.csv")}}),
              HasSubstr("'/nowhere/costs.csv' cannot be read"));
}

TEST(CostSensitiveStage, AMistakeWithinASuperClassCostsHalf) {
  const std::map<std::string, Value> parameters{{"costs", std::string("super_class")},
                                                {"super_classes", Numbers{0, 0, 1}}};
  EXPECT_NEAR(test::metrics_of<CostSensitive>(batch(torch::zeros({1, 3}), {0}), parameters)["loss"],
              (0 + 0.5 + 1) / 3, 1e-6);
  EXPECT_THAT(complaint(batch(torch::zeros({1, 2}), {0}), parameters),
              HasSubstr("costs for 3 classes, but logits for 2; change `super_classes`"));
}

TEST(CostSensitiveStage, NamesThePictureWhoseLabelIsNoClass) {
  EXPECT_THAT(complaint(batch(torch::zeros({2, 3}), {0, 3}), {}),
              HasSubstr("row 1 has category 3"));
  EXPECT_THAT(complaint(batch(torch::zeros({2, 3}), {0, -1}), {}),
              HasSubstr("has no category (-1), but the cost needs one for each image"));
}

}  // namespace seam::stages::cost_sensitive_test
