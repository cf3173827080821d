#include "pipeline/config/untrained.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/config/load.hpp"
#include "seam/stage.hpp"
#include "tests/support/matchers.hpp"

namespace seam::host::untrained_test {

/// A stage that reads and provides tensors, whose type the host does not know.
class Tensors final : public Transform {
 public:
  Tensors(std::vector<std::string> needs, std::vector<std::string> provides, bool trains)
      : needs_(std::move(needs)), provides_(std::move(provides)), trains_(trains) {}
  void declare(Declaration& d) override {
    for (const std::string& field : needs_) add(d.description().needs, field);
    for (const std::string& field : provides_) add(d.description().provides, field);
    d.parameter("weights", weights_, "what it begins with").initial();
    d.parameter("weight", weight_, "of a loss");
    if (trains_) d.trains();
  }
  void process(Packet& /*packet*/, Context& /*context*/) override {}

 private:
  static void add(std::vector<FieldInfo>& fields, const std::string& name) {
    fields.push_back({name, "torch::Tensor", "", ""});
  }
  std::vector<std::string> needs_;
  std::vector<std::string> provides_;
  bool trains_;
  std::filesystem::path weights_;
  double weight_ = 1;
};

/// A capsule network that is trained on triplets and searched by its predicted category.
class UntrainedTest : public ::testing::Test {
 protected:
  UntrainedTest() {
    add("model", {}, {"embedding", "class_lengths", "predicted_category"});
    add("triplet_loss", {"embedding"}, {"loss"});
    add("class_loss", {"class_lengths"}, {"loss"});
    add("accuracy", {"class_lengths"}, {});
    add("adam", {"loss"}, {}, true);
    add("search", {"predicted_category"}, {"rankings"});
    checked_.spec.schedule.each_epoch = {{"train", 1}, {"evaluate", 1}};
    flow("train", {"model", "triplet_loss", "adam"});
    flow("evaluate", {"model", "search"});
  }

  void add(const std::string& name, std::vector<std::string> needs,
           std::vector<std::string> provides, bool trains = false) {
    checked_.spec.stages.emplace_back().name = name;
    checked_.stages[name] = std::make_unique<StageRunner>(
        name, "test." + name,
        std::make_unique<Tensors>(std::move(needs), std::move(provides), trains));
    checked_.stages[name]->configure({});
  }
  /// Replaces a flow of that name.
  void flow(const std::string& name, const std::vector<std::string>& stages) {
    std::erase_if(checked_.spec.flows, [&](const FlowSpec& known) { return known.name == name; });
    FlowSpec& flow = checked_.spec.flows.emplace_back();
    flow.name = name;
    for (const std::string& stage : stages) {
      FlowNode& node = flow.nodes.emplace_back();
      node.stage = stage;
      if (flow.nodes.size() > 1) node.inputs = {flow.nodes.size() - 2};
    }
  }

  CheckedPipeline checked_;
};

TEST_F(UntrainedTest, APredictionThatNoLossReadsIsFound) {
  const UntrainedField expected{"evaluate", "search", "predicted_category", "model",
                                "class_lengths"};
  EXPECT_THAT(untrained_fields(checked_), ElementsAre(expected));
  EXPECT_EQ(to_text(expected),
            "search reads predicted_category, but no loss trains class_lengths of model");
}

TEST_F(UntrainedTest, ScoresThatNoLossReadsAreFound) {
  flow("evaluate", {"model", "accuracy"});
  const UntrainedField expected{"evaluate", "accuracy", "class_lengths", "model", "class_lengths"};
  EXPECT_THAT(untrained_fields(checked_), ElementsAre(expected));
  EXPECT_EQ(to_text(expected), "accuracy reads class_lengths of model, which no loss trains");
  flow("train", {"model", "triplet_loss", "class_loss", "adam"});
  EXPECT_THAT(untrained_fields(checked_), IsEmpty());
}

TEST_F(UntrainedTest, AMetricInTrainingIsNoLoss) {
  flow("train", {"model", "triplet_loss", "accuracy", "adam"});
  EXPECT_EQ(untrained_fields(checked_).size(), 1U);
}

TEST_F(UntrainedTest, ALossOfTheScoresTrainsThePrediction) {
  flow("train", {"model", "triplet_loss", "class_loss", "adam"});
  EXPECT_THAT(untrained_fields(checked_), IsEmpty());
}

TEST_F(UntrainedTest, ALossOfWeightZeroDoesNot) {
  flow("train", {"model", "triplet_loss", "class_loss", "adam"});
  const auto loss =
      std::ranges::find(checked_.spec.stages, std::string("class_loss"), &StageSpec::name);
  loss->values["weight"] = 0.5;
  EXPECT_THAT(untrained_fields(checked_), IsEmpty());
  loss->values["weight"] = 0.0;
  EXPECT_EQ(untrained_fields(checked_).size(), 1U);
}

TEST_F(UntrainedTest, ALossBehindAnotherModelDoesNot) {
  add("other", {}, {"class_lengths"});
  flow("train", {"model", "triplet_loss", "other", "class_loss", "adam"});
  EXPECT_EQ(untrained_fields(checked_).size(), 1U);
}

TEST_F(UntrainedTest, NothingIsSaidOfImportedWeightsOrWithoutTraining) {
  checked_.spec.stages.front().values["weights"] = std::string("runs/first");
  EXPECT_THAT(untrained_fields(checked_), IsEmpty());
  checked_.spec.stages.front().values.clear();
  checked_.spec.schedule.each_epoch = {{"evaluate", 1}};
  EXPECT_THAT(untrained_fields(checked_), IsEmpty());
}

TEST_F(UntrainedTest, OnlyFlowsOfTheScheduleCount) {
  checked_.spec.schedule.each_epoch = {{"train", 1}};
  EXPECT_THAT(untrained_fields(checked_), IsEmpty());
  checked_.spec.schedule.after = {"evaluate"};
  EXPECT_EQ(untrained_fields(checked_).size(), 1U);
}

}  // namespace seam::host::untrained_test
