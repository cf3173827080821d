/// The number of classes of a network, from the data of the flows that train it.
#include "pipeline/config/category_outputs.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <seam/category_names.hpp>
#include <seam/category_outputs.hpp>

#include "pipeline/config/flow_text.hpp"

namespace seam::host::category_outputs_test {

class Data final : public Source, public CategoryNames {
 public:
  void declare(Declaration& d) override { d.offers<CategoryNames>(*this); }
  More produce(Emitter& /*emitter*/, Context& /*context*/) override { return More::no; }
  [[nodiscard]] const std::vector<std::string>& category_names() const override { return none_; }

 private:
  std::vector<std::string> none_;
};

class Network final : public Transform, public CategoryOutputs {
 public:
  void declare(Declaration& d) override {
    d.parameter("classes", classes_, "outputs");
    d.offers<CategoryOutputs>(*this);
  }
  void process(Packet& /*packet*/, Context& /*context*/) override {}

 private:
  std::int64_t classes_ = 23;
};

class Optimizer final : public Sink {
 public:
  void declare(Declaration& d) override { d.trains(); }
  void process(const Packet& /*packet*/, Context& /*context*/) override {}
};

/// A network in the flows `train` and `evaluate`, which the test schedules.
class CategoryOutputsTest : public ::testing::Test {
 protected:
  CategoryOutputsTest() {
    add<Data>("train_items");
    add<Data>("more_items");
    add<Data>("query_items");
    add<Network>("model");
    add<Optimizer>("adam");
    flow("train", "train_items -> more_items -> model -> adam");
    flow("evaluate", "query_items -> model");
    spec_.schedule.before = {"evaluate", "train"};
  }

  /// The value that is set, or none.
  std::optional<Value> classes() {
    set_classes(
        spec_, stages_,
        [](const StageDraft& data) {
          return std::make_unique<StageRunner>(data.spec.name, "test", std::make_unique<Data>());
        },
        [this](StageRunner& data) {
          ++counted_[data.name()];
          return categories_.at(data.name());
        },
        [](StageDraft& stage, const Values& values) {
          stage.spec.values.insert(values.begin(), values.end());
        });
    const Values& values = find_stage(stages_, "model")->spec.values;
    return values.contains("classes") ? std::optional(values.at("classes")) : std::nullopt;
  }
  StageDraft& model() { return stages_[3]; }

  PipelineSpec spec_;
  std::vector<StageDraft> stages_;
  std::map<std::string, std::int64_t> categories_{
      {"train_items", 12}, {"more_items", 14}, {"query_items", 20}};
  std::map<std::string, int> counted_;

 private:
  template <class S>
  void add(const std::string& name) {
    StageDraft draft;
    draft.spec.name = name;
    draft.runner = std::make_unique<StageRunner>(name, "test", std::make_unique<S>());
    stages_.push_back(std::move(draft));
  }
  void flow(const std::string& name, const std::string& text) {
    FlowSpec flow;
    flow.name = name;
    for (const FlowStep& step : parse_flow(text).steps) {
      flow.nodes.push_back({step.stage, step.inputs, {}});
    }
    spec_.flows.push_back(std::move(flow));
  }
};

TEST_F(CategoryOutputsTest, AreAsManyAsTheTrainingDataNames) {
  EXPECT_EQ(classes(), Value{std::int64_t{14}});
  EXPECT_EQ(counted_, (std::map<std::string, int>{{"train_items", 1}, {"more_items", 1}}))
      << "the data of an evaluation trains nothing";
}

TEST_F(CategoryOutputsTest, AreNotChangedIfTheFileSetsThem) {
  model().spec.values["classes"] = Value{std::int64_t{5}};
  EXPECT_EQ(classes(), Value{std::int64_t{5}});
  EXPECT_TRUE(counted_.empty()) << "no data set is opened";
}

TEST_F(CategoryOutputsTest, KeepTheirDefaultIfTheDataNamesNone) {
  categories_ = {{"train_items", 0}, {"more_items", 0}};
  EXPECT_EQ(classes(), std::nullopt);
}

TEST_F(CategoryOutputsTest, KeepTheirDefaultIfNoScheduledFlowTrains) {
  spec_.schedule.before = {"evaluate"};
  EXPECT_EQ(classes(), std::nullopt);
  EXPECT_TRUE(counted_.empty());
}

}  // namespace seam::host::category_outputs_test
