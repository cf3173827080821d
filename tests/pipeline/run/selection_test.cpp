#include "pipeline/run/selection.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <utility>

#include "pipeline/config/load.hpp"
#include "pipeline/run/checkpoint.hpp"
#include "pipeline/run/files.hpp"
#include "pipeline/run/scores.hpp"
#include "seam/error.hpp"
#include "seam/safetensors.hpp"
#include "seam/stage.hpp"
#include "tests/support/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host::selection_test {

namespace fs = std::filesystem;
using seam::test::TemporaryFolder;

class Pictures final : public Source {
 public:
  void declare(Declaration& d) override {
    d.parameter("root", root_, "the folder");
    d.parameter("list", list_, "the list").must_exist("root");
    d.parameter("split", split_, "the split");
    d.parameter("lanes", lanes_, "changes nothing").same_results();
  }
  More produce(Emitter& /*emitter*/, Context& /*context*/) override { return More::no; }

 private:
  fs::path root_;
  fs::path list_;
  std::string split_ = "query";
  std::int64_t lanes_ = 1;
};

class Network final : public Sink {
 public:
  explicit Network(bool trains) : trains_(trains) {}
  void declare(Declaration& d) override {
    d.parameter("weights", weights_, "where from").initial();
    d.parameter("rules", rules_, "which results it may be compared with").protocol();
    d.headline("r@1", Better::higher);
    if (trains_) d.trains();
  }
  void process(const Packet& /*packet*/, Context& /*context*/) override {}

 private:
  fs::path weights_;
  std::string rules_;
  bool trains_;
};

/// Flows `train` (items -> adam) and `evaluate` (queries -> recall), both in each epoch.
struct Pipeline {
  Pipeline() {
    add("train", "items", std::make_unique<Pictures>(), "test.pictures");
    add("train", "adam", std::make_unique<Network>(true), "test.network");
    add("evaluate", "queries", std::make_unique<Pictures>(), "test.pictures");
    add("evaluate", "recall", std::make_unique<Network>(false), "test.network");
    checked.spec.schedule.each_epoch = {{"train", 1}, {"evaluate", 1}};
  }

  template <class Stage>
  void add(const std::string& flow, const std::string& name, std::unique_ptr<Stage> stage,
           const std::string& use) {
    checked.stages[name] = std::make_unique<StageRunner>(name, use, std::move(stage));
    auto& flows = checked.spec.flows;
    if (flows.empty() || flows.back().name != flow) flows.push_back({flow, "", {}, {}});
    FlowNode node{name, {}, {}};
    if (!flows.back().nodes.empty()) node.inputs = {flows.back().nodes.size() - 1};
    flows.back().nodes.push_back(node);
    StageSpec spec;
    spec.name = name;
    spec.use = use;
    checked.spec.stages.push_back(spec);
  }
  StageSpec& stage(const std::string& name) {
    return *std::ranges::find(checked.spec.stages, name, &StageSpec::name);
  }
  [[nodiscard]] std::string data(std::size_t flow = 1) const {
    return measured_data(checked, checked.spec.flows.at(flow));
  }

  CheckedPipeline checked;
};

class SelectionTest : public ::testing::Test {
 protected:
  /// A run folder with checkpoints after epochs 1 and 2; the first one is the best.
  std::string run_of(const Pipeline& pipeline, const std::string& name = "run",
                     const std::vector<ChosenWeights>& began_with = {}) {
    Checkpoint checkpoint;
    checkpoint.stages.push_back({"recall", "test.network", {}});
    checkpoint.stages.back().archive.put("step", std::int64_t{1});
    checkpoint.best_by = rule_of(pipeline.checked);
    checkpoint.chosen = began_with;
    const CheckpointFolder checkpoints(folder_.path() / name / "checkpoints");
    for (const std::int64_t epochs : {1, 2}) {
      checkpoint.position.epochs_done = epochs;
      if (checkpoint.best_by) {
        checkpoint.position.best_kept = {checkpoint.best_by->metric, 0.5, 1};
      }
      checkpoints.write(checkpoint);
    }
    return (folder_.path() / name).string();
  }

  static std::vector<ChosenWeights> imported(Pipeline& pipeline, const std::string& weights) {
    pipeline.stage("recall").values["weights"] = weights;
    const std::vector<std::string> opened{"queries", "recall"};
    return imported_choices(pipeline.checked, opened);
  }
  /// The selection in a score of `pipeline`, whose stage imports these weights.
  static SelectedOn selected_on_of(Pipeline& pipeline, const std::string& weights) {
    Scores scores(pipeline.checked);
    scores.began_with(imported(pipeline, weights));
    scores.flow_ended("evaluate", 0, "", {{"recall.r@1", {0.5, 1}}});
    return scores.list().at(0).selected_on;
  }

  static void write(const fs::path& file, const Safetensors& content) {
    const std::vector<std::byte> bytes = safetensors_bytes(content);
    write_whole_file(file, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }

  TemporaryFolder folder_;
};

TEST_F(SelectionTest, WhatChoosesARunsBestEpoch) {
  Pipeline pipeline;
  EXPECT_EQ(rule_of(pipeline.checked), std::nullopt);
  pipeline.checked.spec.schedule.stop_early = StopEarly{"adam.loss", 3, Goal::lowest};
  EXPECT_EQ(rule_of(pipeline.checked)->flow, "train");
  EXPECT_EQ(rule_of(pipeline.checked)->purpose, Purpose::trains);
  pipeline.checked.spec.schedule.keep.best = "recall.r@1";
  pipeline.stage("recall").values["rules"] = std::string("shop/img64");
  const auto rule = rule_of(pipeline.checked);
  EXPECT_EQ(*rule,
            (Choice{"recall.r@1", "evaluate", Purpose::measures, "shop/img64", pipeline.data()}));
}

TEST_F(SelectionTest, AListIsKnownByItsContent) {
  Pipeline one;
  Pipeline other;
  EXPECT_EQ(one.data(), other.data());
  one.stage("queries").values["list"] = folder_.write("a.txt", "1 2 3").string();
  other.stage("queries").values["list"] = folder_.write("b.txt", "1 2 3").string();
  other.stage("queries").values["lanes"] = std::int64_t{8};
  other.stage("queries").values["split"] = std::string("query");  // as by default
  EXPECT_EQ(one.data(), other.data());
  one.stage("queries").values["root"] =
      folder_.path().string();                                 // without effect if there is a list
  one.stage("queries").values["list"] = std::string("a.txt");  // relative to it
  EXPECT_EQ(one.data(), other.data());
  folder_.write("b.txt", "1 2 4");
  EXPECT_NE(one.data(), other.data());
  folder_.write("b.txt", "1 2 3");
  other.stage("queries").values["split"] = std::string("gallery");
  EXPECT_NE(one.data(), other.data());
}

TEST_F(SelectionTest, ATextIsNoFileThoughOneIsCalledThat) {
  Pipeline one;
  Pipeline other;
  folder_.write("query", "1 2 3");
  folder_.write("gallery", "1 2 3");
  for (Pipeline* const pipeline : {&one, &other}) {
    pipeline->stage("queries").values["root"] = folder_.path().string();
  }
  one.stage("queries").values["split"] = std::string("query");
  other.stage("queries").values["split"] = std::string("gallery");
  EXPECT_NE(one.data(), other.data());
}

TEST_F(SelectionTest, AFolderIsKnownByItsPath) {
  Pipeline one;
  Pipeline other;
  fs::create_directories(folder_.path() / "a/b");
  one.stage("queries").values["root"] = (folder_.path() / "a/b").string();
  other.stage("queries").values["root"] = (folder_.path() / "a/../a/b").string();
  EXPECT_EQ(one.data(), other.data());
  other.stage("queries").values["root"] = (folder_.path() / "a").string();
  EXPECT_NE(one.data(), other.data());
}

TEST_F(SelectionTest, WeightsChosenOnThePicturesThatAreMeasuredAreSaidToBe) {
  Pipeline trained;
  trained.checked.spec.schedule.keep.best = "recall.r@1";
  const std::string run = run_of(trained);
  Pipeline same;
  EXPECT_EQ(selected_on_of(same, run), SelectedOn::test);
  Pipeline other;
  other.stage("queries").values["split"] = std::string("gallery");
  EXPECT_EQ(selected_on_of(other, run), SelectedOn::val);
  EXPECT_THAT(imported(same, run),
              ElementsAre(ChosenWeights{"recall", run + "/checkpoints/epoch-1.safetensors",
                                        rule_of(trained.checked)}));
  EXPECT_EQ(selected_on_of(same, run + "/checkpoints/epoch-1.safetensors"), SelectedOn::test)
      << "the best when it was written";
  EXPECT_EQ(selected_on_of(same, run + "/checkpoints/epoch-2.safetensors"), SelectedOn::unknown);
  trained.checked.spec.schedule.keep.best = "adam.loss";
  EXPECT_EQ(selected_on_of(same, run_of(trained, "by loss")), SelectedOn::train);
}

TEST_F(SelectionTest, TheNewestEpochIsNotChosen) {
  Pipeline pipeline;
  EXPECT_EQ(selected_on_of(pipeline, run_of(pipeline)), SelectedOn::last);
  EXPECT_THAT(imported(pipeline, run_of(pipeline)), IsEmpty());
}

TEST_F(SelectionTest, FilesOfOtherProgramsAreNotJudged) {
  Pipeline pipeline;
  Safetensors content;
  content.tensors["w"] = {"f32", {1}, std::vector<std::byte>(4)};
  write(folder_.path() / "w.safetensors", content);
  EXPECT_THAT(imported(pipeline, (folder_.path() / "w.safetensors").string()), IsEmpty());
}

TEST_F(SelectionTest, AChoiceStaysOneThroughLaterTrainings) {
  Pipeline trained;
  trained.checked.spec.schedule.keep.best = "recall.r@1";
  Pipeline pipeline;
  const auto first = imported(pipeline, run_of(trained, "first"));
  trained.checked.spec.schedule.keep.best.clear();
  const std::string second = run_of(trained, "second", first);
  EXPECT_EQ(imported(pipeline, second), first);
  EXPECT_EQ(selected_on_of(pipeline, second), SelectedOn::test);
}

TEST_F(SelectionTest, StagesThatTheRunDoesNotOpenDoNotCount) {
  Pipeline trained;
  trained.checked.spec.schedule.keep.best = "recall.r@1";
  Pipeline pipeline;
  pipeline.stage("recall").values["weights"] = run_of(trained);
  EXPECT_THAT(imported_choices(pipeline.checked, std::vector<std::string>{"queries"}), IsEmpty());
}

TEST(SelectionText, IsReadBack) {
  const Choice choice{"r\xC3\xA9.r@1", "evaluate", Purpose::measures, "50 % \"x\"", "[{}]"};
  EXPECT_EQ(choice_from(text_of(choice)), choice);
  const std::vector<ChosenWeights> chosen{{"model", "a/\xC3\xA9", choice}, {"b", "c", {}}};
  EXPECT_EQ(chosen_weights_from(text_of(chosen)), chosen);
  for (const char* text : {"", "[]", "{}", "[3]"}) {
    EXPECT_REFUSED(static_cast<void>(choice_from(text)), Fault::data, "does not name a metric")
        << text;
  }
  EXPECT_REFUSED(static_cast<void>(choice_from("%4")), Fault::data, "a '%' without two digits");
  for (const char* text : {"", "3", "[3]", R"([{"stage":"a"}])"}) {
    EXPECT_REFUSED(static_cast<void>(chosen_weights_from(text)), Fault::data,
                   "is not a list of stages, files and metrics")
        << text;
  }
}

TEST(SelectionText, WordsAreThoseOfScoreFiles) {
  for (const auto* word : {"last", "train", "val", "unknown", "test"}) {
    EXPECT_EQ(word_of(selected_on_from(word)), word);
  }
  EXPECT_EQ(selected_on_from("best"), SelectedOn::unknown);
  EXPECT_LT(SelectedOn::unknown, SelectedOn::test) << "the worst of several is used";
}

}  // namespace seam::host::selection_test
