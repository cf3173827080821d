#include "stages/loss/proxy_anchor.hpp"

#include <torch/nn/functional/normalization.h>
#include <torch/types.h>
#include <seam/conformance.hpp>
#include <seam/testing.hpp>

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "stages/train/adam.hpp"
#include "tests/stages/loss/batch_loss_testing.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::proxy_anchor_test {

using seam::testing::LogLine;
using ::testing::Field;

class ProxyAnchorLossTest : public test::BatchLossTest {};
SEAM_ON_EACH_DEVICE(ProxyAnchorLossTest);

TEST_P(ProxyAnchorLossTest, IsThatOfPytorchMetricLearning) {
  expect_golden(test::proxy_anchor_golden(), [](const Tensor& embedding, const Tensor& proxies,
                                                const test::Labels& labels, const auto& o) {
    return proxy_anchor_loss(embedding, proxies, labels, {o[0], o[1]});
  });
}

TEST_P(ProxyAnchorLossTest, HandComputed) {
  // The row lies on its proxy and is at right angles to the other.
  const Tensor proxies = rows({2, 0, 0, 5}, 2);
  const MeasuredLoss result = proxy_anchor_loss(rows({3, 0}, 1), proxies, {0}, {0.5, 2});
  EXPECT_NEAR(result.loss.item<double>(),
              std::log1p(std::exp(-1.0)) + std::log1p(std::exp(1.0)) / 2, 1e-12);
  EXPECT_NEAR(test::measured(result, "positive_similarity"), 1, 1e-12);
  // A second row of the same item, opposite to its proxy: it joins the sum of that proxy, and the
  // other proxy repels it too. The means are still over one and over two proxies.
  const MeasuredLoss two = proxy_anchor_loss(rows({3, 0, -1, 0}, 2), proxies, {0, 0}, {0.5, 2});
  EXPECT_NEAR(two.loss.item<double>(),
              std::log1p(std::exp(-1.0) + std::exp(3.0)) + std::log1p(2 * std::exp(1.0)) / 2,
              1e-12);
  EXPECT_NEAR(test::measured(two, "positive_similarity"), 0, 1e-12);
}

TEST_P(ProxyAnchorLossTest, GradientsAreThoseOfFiniteDifferences) {
  torch::manual_seed(3);
  const Tensor embedding = random(6, 4);
  const Tensor proxies = random(5, 4);
  test::expect_gradients(
      [&] {
        return proxy_anchor_loss(embedding, proxies, {3, 0, 0, 4, 3, 3}, {0.1, 4}).loss;
      },
      {embedding, proxies});
}

TEST_P(ProxyAnchorLossTest, WhatIsNotFiniteMakesItNaN) {
  expect_nan_of_what_is_not_finite([this](const Tensor& embedding) {
    return proxy_anchor_loss(embedding, random(4, 4), {0, 1, 2, 3}, {});
  });
}

TEST(ProxyAnchorLossLabels, OfAnotherNumberOrWithoutAProxyAreRefused) {
  const Tensor embedding = torch::randn({2, 3});
  const Tensor proxies = torch::randn({4, 3});
  const auto loss = [&](const std::vector<std::int64_t>& labels) {
    (void)proxy_anchor_loss(embedding, proxies, labels, {});
  };
  EXPECT_NO_THROW(loss({0, 3}));
  EXPECT_REFUSED(loss({0}), Fault::internal, "there are 1 labels for 2 embeddings");
  EXPECT_REFUSED(loss({0, 1, 2}), Fault::internal, "there are 3 labels for 2 embeddings");
  EXPECT_REFUSED(loss({0, 4}), Fault::internal, "label 4 is not one of the 4 proxies");
  EXPECT_REFUSED(loss({0, -1}), Fault::internal, "label -1 is not one of the 4 proxies");
  EXPECT_REFUSED((void)proxy_anchor_loss(torch::empty({0, 3}), proxies, {}, {}), Fault::data,
                 "the batch has no rows");
}

TEST(ProxyAnchorLossThreads, HaveTheSameBytesForAnyNumber) {
  torch::manual_seed(7);
  struct Sizes {
    std::int64_t rows;
    std::int64_t proxies;
    std::int64_t width;
  };
  for (const auto& [rows, proxies, width] :
       {Sizes{61, 1013, 131}, Sizes{97, 3, 368}, Sizes{2, 50021, 3}}) {
    test::Labels labels;
    for (std::int64_t row = 0; row < rows; ++row) labels.push_back(row * row % proxies);
    test::expect_same_bytes_for_any_threads(
        {torch::randn({rows, width}), torch::randn({proxies, width})},
        [&](const std::vector<Tensor>& inputs) {
          return proxy_anchor_loss(inputs[0], inputs[1], labels, {});
        });
  }
}

constexpr std::int64_t dimensions = 4;

/// Images of these items: those of one item are near each other.
Packet batch(const std::vector<std::string>& items, std::uint64_t sequence = 0) {
  const Tensor embedding = torch::empty({static_cast<std::int64_t>(items.size()), dimensions});
  std::vector<Origin> origins;
  for (std::size_t row = 0; row < items.size(); ++row) {
    Random item(1, stream_of(items[row]));
    Random picture(2, row, 0, sequence);
    for (std::int64_t at = 0; at < dimensions; ++at) {
      embedding[static_cast<std::int64_t>(row)][at] = item.normal() + 0.1 * picture.normal();
    }
    origins.push_back({nullptr, 0, items[row] + std::to_string(row) + ".jpg"});
  }
  Packet packet = test::labelled(embedding, items);
  packet.set_sequence(sequence);
  packet.set(field::origins, origins);
  return packet;
}

const auto conformance = seam::testing::conformance<ProxyAnchor>({
    .parameters = {{"items", std::int64_t{3}}, {"dimensions", dimensions}},
    .packets =
        [](seam::testing::Harness&) {
          return std::vector{batch({"a", "b", "a"}), batch({"c", "b"}, 1), batch({"a"}, 2)};
        },
    .training = true,  // in evaluation, an item that was never trained is rejected
});

/// loss.proxy_anchor -> train.adam, as run by the host.
class Training {
 public:
  explicit Training(std::int64_t items = 4, std::int64_t width = dimensions,
                    StageRunner* data = nullptr)
      : loss_("proxies", "loss.proxy_anchor", std::make_unique<ProxyAnchor>()),
        adam_("adam", "train.adam", std::make_unique<Adam>()) {
    run_.services = &services_;
    run_.seed = 3;
    loss_.configure({{"items", items}, {"dimensions", width}});
    adam_.configure({{"rate", 1e-3}});
    if (data != nullptr) loss_.bind_upstream({data});
    adam_.bind_upstream({&loss_});
    for (StageRunner* stage : {&loss_, &adam_}) stage->open(run_);
  }
  ~Training() {
    for (StageRunner* stage : {&loss_, &adam_}) stage->close();
  }
  Training& operator=(Training&&) = delete;  // not copyable

  /// A training flow; returns the error of each batch, empty if it was accepted.
  std::vector<std::string> train(const std::vector<Packet>& batches) {
    begin(true);
    std::vector<std::string> complaints;
    for (Packet packet : batches) {
      Outcome outcome = loss_.transform(run_, packet);
      if (outcome) outcome = adam_.consume(run_, packet);
      complaints.push_back(outcome ? "" : outcome.error().what());
    }
    end();
    ++run_.trainings;
    ++run_.epoch;
    return complaints;
  }
  /// The error of evaluating the loss of a batch.
  std::string evaluate(Packet packet) {
    begin(false);
    const Outcome outcome = loss_.transform(run_, packet);
    end();
    return outcome ? "" : outcome.error().what();
  }
  [[nodiscard]] std::vector<Archive> save() const { return {loss_.save(), adam_.save()}; }
  void load(const std::vector<Archive>& saved) {
    loss_.load(saved.at(0));
    adam_.load(saved.at(1));
    run_.trainings = run_.epoch = 1;
  }
  seam::testing::RecordingServices& services() { return services_; }

 private:
  void begin(bool training) {
    run_.training = training;
    loss_.enter_thread(run_);
    for (StageRunner* stage : {&loss_, &adam_}) stage->begin(run_);
  }
  void end() {
    More more = More::no;
    for (StageRunner* stage : {&loss_, &adam_}) {
      EXPECT_TRUE(static_cast<bool>(stage->finish(run_, nullptr, more)));
    }
  }

  seam::testing::RecordingServices services_;
  RunState run_;
  StageRunner loss_;
  StageRunner adam_;
};

std::vector<Packet> first_epoch() {
  return {batch({"c", "a", "c"}, 0), batch({"b", "a"}, 1)};
}
std::vector<Packet> second_epoch() {
  return {batch({"d", "b", "a"}, 2), batch({"c", "d", "c", "b"}, 3)};
}

/// The proxies that open() makes after that data set, and its messages.
struct Counted {
  explicit Counted(std::map<std::string, Value> values, bool behind_data = true) {
    StageRunner data("train_items", "test.three_items", std::make_unique<test::ThreeItems>());
    StageRunner loss("proxies", "loss.proxy_anchor", std::make_unique<ProxyAnchor>());
    values["dimensions"] = dimensions;
    loss.configure(values);
    if (behind_data) loss.bind_upstream({&data});
    seam::testing::RecordingServices services;
    RunState run;
    run.services = &services;
    loss.open(run);
    proxies = loss.save().get("proxies", "f32").shape.at(0);
    said = services.lines.empty() ? std::string() : services.lines.front().text;
  }

  std::int64_t proxies = 0;
  std::string said;
};

TEST(ProxyItems, AreThoseOfTheDataSets) {
  const Counted counted({});
  EXPECT_EQ(counted.proxies, 3);
  EXPECT_EQ(counted.said, "");
  EXPECT_EQ(Counted({{"items", std::int64_t{3}}}).said, "");
}

TEST(ProxyItems, AreInOrderOfTheirNamesUnlessACheckpointHasOthers) {
  const auto proxies_after = [](const Packet& packet, const Archive& saved) {
    StageRunner data("train_items", "test.three_items", std::make_unique<test::ThreeItems>());
    seam::testing::Harness loss("proxies", std::make_unique<ProxyAnchor>());
    loss.training(true).upstream({&data}).set("dimensions", dimensions).open();
    if (!saved.entries().empty()) loss.runner().load(saved);
    loss.push(packet);
    EXPECT_THAT(loss.errors(), IsEmpty());
    dynamic_cast<ProxyAnchor&>(loss.runner().stage()).batch_accepted();
    return loss.runner().save();
  };
  const Archive named = proxies_after(batch({"c", "b", "b"}), {});
  EXPECT_EQ(named.text("items"), "abc");
  Training appeared(3);
  appeared.train(first_epoch());
  EXPECT_EQ(proxies_after(batch({"b", "a"}), appeared.save()[0]).text("items"), "cab");
}

TEST(ProxyItems, MoreThanTheDataSetsServeAreWarnedOf) {
  const Counted counted({{"items", std::int64_t{7}}});
  EXPECT_EQ(counted.proxies, 7);
  EXPECT_THAT(counted.said, HasSubstr("`items = 7`, but the data sets before the loss serve 3"));
}

TEST(ProxyItems, FewerThanTheDataSetsServeAreForThoseThatAppear) {
  EXPECT_EQ(Counted({{"items", std::int64_t{2}}}).said, "");
}

TEST(ProxyItems, UnknownOnesAreRefused) {
  EXPECT_REFUSED(Counted({}, false), Fault::configuration, "set `items`");
}

TEST(ProxyAnchor, ProxiesLearnWhereTheirItemsAre) {
  Training training;
  std::vector<Packet> batches;
  for (std::uint64_t at = 0; at < 40; ++at) {
    batches.push_back(batch({"a", "b", "c", "d", "a", "b", "c", "d"}, at));
  }
  training.train(batches);
  const std::vector<double>& loss = training.services().metrics.at("loss");
  ASSERT_EQ(loss.size(), 40U);
  EXPECT_LT(loss.back(), 0.5 * loss.front());
  EXPECT_GT(training.services().metrics.at("positive_similarity").back(),
            training.services().metrics.at("positive_similarity").front());
  const Tensor proxies = torch::empty({4, dimensions});
  get_tensor(training.save()[0], "proxies", proxies);
  const Packet pictures = batch({"d", "a", "c", "b"}, 100);
  const Tensor similarity = torch::nn::functional::normalize(pictures.get(field::embedding))
                                .matmul(torch::nn::functional::normalize(proxies).t());
  EXPECT_TRUE(torch::equal(similarity.argmax(1), torch::tensor({3, 0, 2, 1}, torch::kInt64)))
      << similarity;
}

TEST(ProxyAnchor, ProxiesLearnWithAHundredTimesTheRate) {
  ProxyAnchor stage;
  ASSERT_EQ(stage.weights().size(), 1U);
  EXPECT_EQ(stage.weights()[0].name, "proxies");
  EXPECT_EQ(stage.weights()[0].rate_scale, 100);
}

TEST(ProxyAnchor, InitialProxiesAreKaimingNormalOfTheSeed) {
  const auto proxies = [](std::uint64_t seed) {
    seam::testing::Harness harness("proxies", std::make_unique<ProxyAnchor>());
    harness.seed(seed).set("items", 50).set("dimensions", 400).open();
    return dynamic_cast<ProxyAnchor&>(harness.runner().stage()).weights()[0].tensor.detach();
  };
  const Tensor some = proxies(1);
  EXPECT_EQ(some.sizes(), (std::vector<std::int64_t>{50, 400}));
  EXPECT_NEAR(some.mean().item<double>(), 0, 0.01);
  EXPECT_NEAR(some.std().item<double>(), std::sqrt(2.0 / 50), 0.01);
  EXPECT_TRUE(torch::equal(some, proxies(1)));
  EXPECT_FALSE(torch::equal(some, proxies(2)));
}

TEST(ProxyAnchor, AResumedTrainingGoesOnTheSame) {
  Training whole;
  whole.train(first_epoch());
  const std::vector<Archive> saved = whole.save();
  EXPECT_EQ(saved[0].text("items"), "cab") << "in order of first appearance";
  whole.services().metrics.clear();
  whole.train(second_epoch());

  Training resumed;
  resumed.load(saved);
  EXPECT_EQ(resumed.save(), saved);
  resumed.train(second_epoch());
  EXPECT_EQ(resumed.save(), whole.save());
  EXPECT_EQ(resumed.services().metrics, whole.services().metrics);
  EXPECT_EQ(resumed.save()[0].text("items"), "cabd");
}

TEST(ProxyAnchor, ABatchThatIsSkippedLeavesNoTrace) {
  Training clean;
  clean.train(first_epoch());
  Packet poisoned = batch({"d", "b"}, 7);
  poisoned[field::embedding] = poisoned[field::embedding] * std::numeric_limits<float>::quiet_NaN();
  for (const std::size_t place : {0U, 1U, 2U}) {
    std::vector<Packet> batches = first_epoch();
    batches.insert(batches.begin() + static_cast<std::ptrdiff_t>(place), poisoned);
    Training training;
    EXPECT_THAT(training.train(batches)[place], HasSubstr("the loss is not finite"));
    EXPECT_EQ(training.save(), clean.save());
    EXPECT_EQ(training.services().metrics, clean.services().metrics);
  }
}

TEST(ProxyAnchor, AnEvaluationMeasuresItemsOfTheTrainingAlone) {
  Training training;
  training.train(first_epoch());
  const std::vector<Archive> saved = training.save();
  training.services().metrics.clear();
  EXPECT_EQ(training.evaluate(batch({"a", "c"}, 9)), "");
  EXPECT_EQ(training.services().metrics.at("loss").size(), 1U);
  EXPECT_THAT(
      training.evaluate(batch({"a", "d"}, 9)),
      HasSubstr("item 'd' has no trained proxy: it has not occurred in any training batch"));
  EXPECT_EQ(training.save(), saved);
}

TEST(ProxyAnchor, ProxiesWithoutAnItemAreToldOfOnceAfterAWholeFlow) {
  const auto warning = Contains(
      Field(&LogLine::text, HasSubstr("1 of 4 proxies have had no image of their item; they push "
                                      "every image away. If the training list has 3 items, set "
                                      "`items` to that")));
  Training training;
  training.train(first_epoch());
  EXPECT_THAT(training.services().lines, IsEmpty());
  training.train(first_epoch());
  EXPECT_THAT(training.services().lines, warning);
  training.train(first_epoch());
  EXPECT_EQ(training.services().lines.size(), 1U);
  Training fitting(3);
  for (int epoch = 0; epoch < 2; ++epoch) fitting.train(first_epoch());
  EXPECT_THAT(fitting.services().lines, IsEmpty());
}

TEST(ProxyAnchor, ProxiesOfItemsThatAreNeverServedAreToldOfAfterAResumeToo) {
  StageRunner data("train_items", "test.three_items", std::make_unique<test::ThreeItems>());
  const std::vector<Packet> without_b{batch({"c", "a", "c"}), batch({"a"}, 1)};
  Training training(3, dimensions, &data);
  training.train(without_b);
  Training resumed(3, dimensions, &data);
  resumed.load(training.save());
  for (Training* each : {&training, &resumed}) {
    for (int flow = 0; flow < 2; ++flow) each->train(without_b);
    EXPECT_THAT(each->services().lines,
                ElementsAre(Field(&LogLine::text,
                                  HasSubstr("1 of 3 proxies have had no image of their item, such "
                                            "as that of 'b'; they push every image away"))));
  }
}

TEST(ProxyAnchor, ABatchThatItCannotUseIsRefused) {
  Training training;
  EXPECT_THAT(training.train({batch({"a", ""})})[0], HasSubstr("1.jpg has no item"));
  EXPECT_THAT(training.train({batch({})})[0], HasSubstr("no rows"));
  Training wider(4, dimensions + 1);
  EXPECT_THAT(wider.train({batch({"a"})})[0],
              HasSubstr("has 4 values, but a proxy has 5; set `dimensions`"));
}

TEST(ProxyAnchor, AStateOfOtherProxiesIsRefused) {
  Training training;
  training.train(first_epoch());
  const auto load = [&](std::int64_t items, std::int64_t width) {
    Training(items, width).load(training.save());
  };
  EXPECT_NO_THROW(load(4, 4));
  EXPECT_REFUSED(load(5, 4), Fault::configuration,
                 "the checkpoint has 4 proxies of 4 dimensions, but this pipeline has 5 proxies of "
                 "4 dimensions; set `items` and `dimensions`");
  EXPECT_REFUSED(load(4, 3), Fault::configuration,
                 "but this pipeline has 4 proxies of 3 dimensions");
}

}  // namespace seam::stages::proxy_anchor_test
