/// Batches, values of other programs and checks for the tests of losses over the items of a batch.
#pragma once

#include <torch/types.h>
#include <torch/utils.h>
#include <seam/loss.hpp>
#include <seam/tensor_testing.hpp>
#include <seam/testing.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stages/loss/base/measured_loss.hpp"
#include "stages/served_items.hpp"
#include "tests/stages/loss/metric_learning_golden.hpp"
#include "tests/stages/nn/gradient_check.hpp"
#include "tests/support/matchers.hpp"

namespace seam::test {

using Labels = std::vector<std::int64_t>;

inline Packet labelled(const Tensor& embedding, const std::vector<std::string>& items) {
  Packet packet;
  packet.set(field::embedding, embedding);
  packet.set(field::items, items);
  return packet;
}

/// A data set with three items.
class ThreeItems final : public Source, public stages::ServedItems {
 public:
  void declare(Declaration& d) override { d.offers<stages::ServedItems>(*this); }
  More produce(Emitter& /*emitter*/, Context& /*context*/) override { return More::no; }
  [[nodiscard]] const Names& served_items() const override { return names_; }

 private:
  Names names_{"a", "b", "c"};
};

/// Three batches for the conformance suite.
inline std::vector<Packet> labelled_batches(const std::vector<std::string>& items = {"a", "b", "a",
                                                                                     "b", "c"}) {
  std::vector<Packet> packets;
  for (const float factor : {1.F, 2.F, 3.F}) {
    packets.push_back(labelled((torch::arange(20.0F).view({5, 4}) * factor).sin(), items));
  }
  return packets;
}

/// Cosines of all pairs of rows, one by one.
inline std::vector<std::vector<double>> cosines(const Tensor& embedding) {
  const Tensor unit = embedding / embedding.norm(2, 1, true);
  const auto rows = static_cast<std::size_t>(unit.size(0));
  std::vector<std::vector<double>> result(rows, std::vector<double>(rows));
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < rows; ++j) {
      result[i][j] = (unit[static_cast<std::int64_t>(i)] * unit[static_cast<std::int64_t>(j)])
                         .sum()
                         .item<double>();
    }
  }
  return result;
}

/// A metric of the result; NaN if there is none of this name.
inline double measured(const stages::MeasuredLoss& result, std::string_view name) {
  for (const auto& [metric, value] : result.measured) {
    if (metric == name) return value.item<double>();
  }
  ADD_FAILURE() << "there is no metric '" << name << "'";
  return std::numeric_limits<double>::quiet_NaN();
}

class BatchLossTest : public seam::testing::EachDevice {
 protected:
  /// Rows of doubles, a leaf with a gradient.
  [[nodiscard]] Tensor rows(const std::vector<double>& values, std::int64_t count) const {
    return torch::tensor(values, torch::kFloat64)
        .view({count, -1})
        .to(device())
        .set_requires_grad(true);
  }
  [[nodiscard]] Tensor random(std::int64_t count, std::int64_t width) const {
    return torch::randn({count, width}, torch::kFloat64).to(device()).set_requires_grad(true);
  }

  /// The embedding of a golden batch.
  [[nodiscard]] Tensor embedding_of(const PairGolden& golden) const {
    const auto count = static_cast<std::int64_t>(golden.labels.size());
    return numbers(count * golden.dimensions, golden.phase)
        .view({count, -1})
        .to(device())
        .set_requires_grad(true);
  }
  static void expect_golden(const stages::MeasuredLoss& result, const Tensor& embedding,
                            const PairGolden& golden) {
    result.loss.backward();
    EXPECT_NEAR(result.loss.item<double>(), golden.loss, 1e-6);
    expect_digest({embedding.grad()}, golden.gradient, 1e-6);
  }
  /// `loss(embedding, labels, options)` and its gradient are those of the golden batches.
  template <class F>
  void expect_golden(const std::vector<PairGolden>& all, const F& loss) const {
    const at::AutoGradMode gradients(true);
    for (const PairGolden& golden : all) {
      const Tensor embedding = embedding_of(golden);
      expect_golden(loss(embedding, golden.labels, golden.options), embedding, golden);
    }
  }
  /// The same of `loss(embedding, proxies, labels, options)`.
  template <class F>
  void expect_golden(const std::vector<ProxyGolden>& all, const F& loss) const {
    const at::AutoGradMode gradients(true);
    for (const auto& [batch, count, gradient] : all) {
      const Tensor embedding = embedding_of(batch);
      const Tensor proxies = numbers(count * batch.dimensions, batch.phase / 2)
                                 .view({count, -1})
                                 .to(device())
                                 .set_requires_grad(true);
      expect_golden(loss(embedding, proxies, batch.labels, batch.options), embedding, batch);
      expect_digest({proxies.grad()}, gradient, 1e-6);
    }
  }

  /// `loss(embedding)` of four rows is NaN if one value is not finite: NaN compares as neither more
  /// nor less, and rows that are dropped for it would give 0.
  template <class F>
  void expect_nan_of_what_is_not_finite(const F& loss) const {
    for (const double wrong :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
      Tensor embedding = torch::eye(4, torch::kFloat64).to(device());
      embedding[2][1] = wrong;
      const stages::MeasuredLoss result = loss(embedding);
      EXPECT_TRUE(std::isnan(result.loss.template item<double>())) << wrong;
    }
  }
};

/// The loss of inputs with these values, its metrics and its gradients have the same bytes for any
/// number of threads.
template <class F>
void expect_same_bytes_for_any_threads(const std::vector<Tensor>& values, const F& loss) {
  const at::AutoGradMode gradients(true);
  std::vector<Tensor> first;
  for (const int count : {1, 2, 3, 5, 8}) {
    const Threads threads(count);
    std::vector<Tensor> inputs;
    for (const Tensor& value : values) inputs.push_back(value.clone().requires_grad_(true));
    const stages::MeasuredLoss result = loss(inputs);
    result.loss.backward();
    std::vector<Tensor> results{result.loss.detach()};
    for (const auto& [metric, value] : result.measured) results.push_back(value);
    for (const Tensor& input : inputs) results.push_back(input.grad());
    if (first.empty()) first = results;
    for (std::size_t at = 0; at < results.size(); ++at) {
      EXPECT_TRUE(torch::equal(results[at], first[at])) << "number " << at << ", " << count;
    }
  }
}

/// The metrics of a batch in an evaluation, which must accept it.
template <class Stage>
std::map<std::string, double> metrics_of(const Packet& packet,
                                         const std::map<std::string, Value>& parameters = {}) {
  seam::testing::Harness harness("loss", std::make_unique<Stage>());
  for (const auto& [name, value] : parameters) harness.set(name, value);
  harness.push(packet).finish();
  EXPECT_TRUE(harness.errors().empty()) << harness.errors()[0].full_message();
  std::map<std::string, double> metrics;
  for (const auto& [name, values] : harness.metrics()) metrics[name] = values.back();
  return metrics;
}

/// The error of a batch, or "accepted".
template <class Stage>
std::string complaint(const Packet& packet, const std::map<std::string, Value>& parameters = {}) {
  seam::testing::Harness harness("loss", std::make_unique<Stage>());
  for (const auto& [name, value] : parameters) harness.set(name, value);
  harness.push(packet);
  return harness.errors().empty() ? "accepted" : std::string(harness.errors()[0].what());
}

/// Labels of 24 items with four rows each.
inline Labels labels_of_fours() {
  Labels labels;
  for (std::int64_t row = 0; row < 96; ++row) labels.push_back(row / 4);
  return labels;
}

/// The loss refuses batches in which no row has a positive and a negative.
template <class Stage>
void expect_refuses_batches_without_pairs() {
  const auto complaint_of = [](const std::vector<std::string>& items, float factor = 1) {
    const auto rows = static_cast<std::int64_t>(items.size());
    return complaint<Stage>(labelled(torch::eye(rows, 4) * factor, items));
  };
  EXPECT_EQ(complaint_of({"a", "a", "b", "c"}), "accepted");
  EXPECT_EQ(complaint_of({"a", "a", "b"}), "accepted");
  EXPECT_THAT(complaint_of({"a", "b", "c", "d"}),
              HasSubstr("no item of this batch has a second image"));
  EXPECT_THAT(complaint_of({"a", "a", "a", "a"}),
              HasSubstr("all images of this batch show one item"));
  EXPECT_THAT(complaint_of({}), HasSubstr("(0 images)"));
  EXPECT_THAT(complaint_of({"a", "a", "", "b"}), HasSubstr("row 2 has no item"));
  EXPECT_THAT(complaint_of({"a", "a", "b", "c"}, std::numeric_limits<float>::quiet_NaN()),
              HasSubstr("are not finite"));
}

}  // namespace seam::test
