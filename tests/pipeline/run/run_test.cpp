#include "pipeline/run/run.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <sstream>
#include <utility>

#include "pipeline/run/checkpoint.hpp"
#include "pipeline/run/checksum.hpp"
#include "seam/stage.hpp"
#include "tests/pipeline/run/full_disk.hpp"
#include "tests/sdk/echo_ranks.hpp"
#include "tests/support/text.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host::run_test {

using seam::test::FullDisk;
using seam::test::TemporaryFolder;

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::ExplainMatchResult;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

/// The events of a run, in order: "open model", "flow train 0", "save model (compute)".
using Events = std::vector<std::string>;

/// Whether the current code was sent to the compute thread.
struct Place {
  bool compute = false;
};

struct StageScript {
  Events* events = nullptr;
  const Place* place = nullptr;
  bool on_compute = false;
  bool keeps_state = false;
  Kept kept = Kept::always;
  bool trains = false;
  std::string fails_in = {};  ///< "open", "save", "load", "close"
};

/// Records its calls; its state counts the flows that have begun.
class Scripted final : public Sink {
 public:
  Scripted(std::string name, StageScript script)
      : name_(std::move(name)), script_(std::move(script)) {}

  void declare(Declaration& d) override {
    if (script_.keeps_state) d.keeps_state(script_.kept);
    if (script_.trains) d.trains();
  }
  [[nodiscard]] bool on_compute_thread() const override { return script_.on_compute; }
  void open(Context& /*context*/) override { note("open"); }
  void begin(Context& context) override {
    ++flows_;
    context.metric("flows", static_cast<double>(flows_));
  }
  void process(const Packet& /*packet*/, Context& /*context*/) override {}
  void close() override { note("close"); }
  void save(Archive& archive) const override {
    note("save");
    archive.put("flows", flows_);
  }
  void load(const Archive& archive) override {
    note("load");
    flows_ = archive.integer("flows");
  }

 private:
  void note(const std::string& what) const {
    script_.events->push_back(what + " " + name_ + (script_.place->compute ? " (compute)" : ""));
    if (what == script_.fails_in) throw Error("cannot " + what);
  }

  std::string name_;
  StageScript script_;
  std::int64_t flows_ = 0;
};

MATCHER_P2(fails_with, code, message, "") {
  return ExplainMatchResult(code, arg.code, result_listener) && arg.error.has_value() &&
         ExplainMatchResult(message, arg.error->full_message(), result_listener);
}

/// Runs no packets: begins the stages and returns the result that the test sets.
class FakeFlows final : public FlowRunner {
 public:
  FakeFlows(Events& events, Place& place) : events_(events), place_(place) {}

  void on_compute_thread(const std::function<void()>& work) override {
    place_.compute = true;
    try {
      work();
    } catch (...) {
      place_.compute = false;
      throw;
    }
    place_.compute = false;
  }

  FlowResult run(const FlowSpec& flow, std::map<std::string, std::unique_ptr<StageRunner>>& stages,
                 const FlowOptions& options) override {
    events_.push_back("flow " + flow.name + " " + std::to_string(options.run.epoch));
    last_options = options;
    FlowResult result;
    result.seconds = 1;
    for (const FlowNode& node : flow.nodes) {
      StageRunner& stage = *stages.at(node.stage);
      stage.begin(options.run);
      if (stage.description().trains) result.stages.push_back(step_of(node.stage));
    }
    if (script) script(options, result);
    return result;
  }

  std::function<void(const FlowOptions&, FlowResult&)> script;
  FlowOptions last_options;

 private:
  /// A flow that trains takes at least one step.
  static StageCount step_of(const std::string& stage) {
    StageCount count;
    count.stage = stage;
    count.received = count.delivered = 1;
    return count;
  }

  Events& events_;
  Place& place_;
};

class RunPipelineTest : public ::testing::Test {
 protected:
  RunPipelineTest() {
    pipeline_.spec.name = "test";
    pipeline_.spec.resolved = "[pipeline]\nname = \"test\"\n";
    pipeline_.spec.schedule.epochs = 3;
    pipeline_.spec.schedule.each_epoch = {{"train", 1}};
    pipeline_.spec.flows.push_back({"train", "a -> b", {}, {}});
    options_.run_directory = folder_.path() / "run";
    options_.stop = &stop_;
    options_.threads = 7;
  }

  StageSpec& add_stage(const std::string& name, StageScript script, const std::string& flow) {
    script.events = &events_;
    script.place = &place_;
    pipeline_.stages[name] =
        std::make_unique<StageRunner>(name, "test.stage", std::make_unique<Scripted>(name, script));
    for (FlowSpec& spec : pipeline_.spec.flows) {
      if (spec.name == flow) spec.nodes.push_back({name, {}, {}});
    }
    StageSpec spec;
    spec.name = name;
    spec.use = "test.stage";
    pipeline_.spec.stages.push_back(spec);
    return pipeline_.spec.stages.back();
  }
  /// Adds a flow with one stage.
  StageSpec& add_flow(const std::string& name, const std::string& stage, StageScript script = {}) {
    pipeline_.spec.flows.push_back({name, stage, {}, {}});
    return add_stage(stage, std::move(script), name);
  }
  /// Two stages: one on the compute thread with state, one without.
  void add_stages() {
    add_stage("plain", {}, "train");
    add_stage("model", {.on_compute = true, .keeps_state = true}, "train");
  }

  RunSummary run() { return run_pipeline(pipeline_, options_, display_, flows_); }
  RunSummary resume() {
    options_.start = Start::resume;
    return run();
  }
  /// Stops the run in the epoch's flow.
  void stop_in(std::int64_t epoch, const std::string& flow = "train") {
    flows_.script = [this, epoch, flow](const FlowOptions& options, FlowResult& result) {
      if (options.run.epoch != epoch || options.run.flow != flow) return;
      stop_.soon = true;
      result.cancelled = true;
    };
  }
  /// Resumes it, and records only its events.
  RunSummary go_on() {
    stop_.soon = false;
    flows_.script = nullptr;
    events_.clear();
    return resume();
  }
  /// Adds a flow that trains after the epochs.
  void tune_after_the_epochs() {
    add_flow("tune", "tuner", {.trains = true});
    pipeline_.spec.schedule.after = {"tune"};
  }
  [[nodiscard]] std::string file(const std::string& name) const {
    return seam::test::text_of_file(folder_.path() / "run" / name);
  }

  TemporaryFolder folder_;
  Events events_;
  Place place_;
  StopState stop_;
  std::ostringstream results_;
  std::ostringstream messages_;
  Display display_{results_, messages_, Display::Style::plain};
  CheckedPipeline pipeline_;
  RunOptions options_;
  FakeFlows flows_{events_, place_};
};

TEST_F(RunPipelineTest, OpensRunsSavesAndClosesEachWhereItBelongs) {
  add_stages();
  pipeline_.spec.schedule.epochs = 2;
  const RunSummary summary = run();
  EXPECT_EQ(summary.code, ExitCode::success);
  EXPECT_TRUE(summary.complete);
  // Before a flow that does not train but may change a state, in case it is stopped.
  EXPECT_THAT(events_, ElementsAre("open plain", "open model (compute)", "save model (compute)",
                                   "flow train 0", "save model (compute)", "save model (compute)",
                                   "flow train 1", "save model (compute)", "close model (compute)",
                                   "close plain"));
}

TEST_F(RunPipelineTest, AStageIsOpenedAfterThoseItRefersTo) {
  add_stage("search", {}, "train").references = {{"index", "index"}};
  add_stage("index", {}, "").references = {{"source", "source"}};
  add_stage("source", {}, "");
  add_stage("unused", {}, "");
  pipeline_.spec.schedule.epochs = 1;
  run();
  EXPECT_THAT(events_, ElementsAre("open source", "open index", "open search", "flow train 0",
                                   "close search", "close index", "close source"));
}

TEST_F(RunPipelineTest, TellsTheFlowsWhatTheyNeed) {
  add_stages();
  pipeline_.spec.seed = 99;
  pipeline_.spec.limits.packets = 5;
  run();
  const FlowOptions& options = flows_.last_options;
  EXPECT_EQ(options.run.seed, 99U);
  EXPECT_EQ(options.run.epoch, 2);
  EXPECT_EQ(options.run.flow, "train");
  EXPECT_EQ(options.run.compute_threads, 7);
  EXPECT_EQ(options.run.run_directory, folder_.path() / "run");
  EXPECT_EQ(options.limits.packets, 5);
  EXPECT_EQ(options.stop, &stop_);
  EXPECT_TRUE(options.stage_specs.contains("model"));
}

/// Changes the value of the term `name` in the other rank's terms.
std::function<std::string(std::string)> with_other(const std::string& name) {
  return [name](std::string terms) {
    const std::size_t at = terms.find(name + "\",\"");
    if (at != std::string::npos) terms.insert(at + name.size() + 3, "other-");
    return terms;
  };
}

TEST_F(RunPipelineTest, RanksWithOtherStatesDoNotBegin) {
  add_stages();
  seam::testing::EchoRanks ranks;
  options_.ranks = &ranks;
  ranks.other = with_other("SHA-256 of the state of stage 'model'");
  EXPECT_THAT(run(), fails_with(ExitCode::configuration,
                                HasSubstr("\nSHA-256 of the state of stage 'model': ")));
  EXPECT_THAT(events_, Not(Contains("flow train 0")));
}

TEST_F(RunPipelineTest, RanksRenameADamagedCheckpointWhenAllHaveReadThem) {
  add_stages();
  stop_in(2);
  run();
  const fs::path newest = folder_.path() / "run/checkpoints/epoch-2.safetensors";
  ASSERT_TRUE(fs::exists(newest));
  std::ofstream(newest) << "damaged";
  seam::testing::EchoRanks ranks;
  options_.ranks = &ranks;
  ranks.other = with_other("the newest checkpoint");
  EXPECT_THAT(go_on(), fails_with(ExitCode::configuration,
                                  HasSubstr("the newest checkpoint: epoch-1.safetensors on rank 0, "
                                            "other-epoch-1.safetensors on rank 1")));
  ranks.other = with_other("SHA-256 of the newest checkpoint");
  EXPECT_THAT(go_on(), fails_with(ExitCode::configuration,
                                  HasSubstr("\nSHA-256 of the newest checkpoint: ")));
  EXPECT_TRUE(fs::exists(newest));
  seam::testing::EchoRanks again;
  options_.ranks = &again;
  EXPECT_EQ(go_on().code, ExitCode::success);
}

TEST_F(RunPipelineTest, RanksKeepWhatAFlowTrainedBeforeOneThatTheyCannotStop) {
  add_stage("adam", {.keeps_state = true, .trains = true}, "train");
  for (const char* flow : {"gallery", "evaluate"}) add_flow(flow, flow);
  pipeline_.spec.schedule.epochs = 1;
  pipeline_.spec.schedule.each_epoch = {
      {"gallery", 1}, {"train", 1}, {"gallery", 1}, {"evaluate", 1}};
  seam::testing::EchoRanks ranks;
  options_.ranks = &ranks;
  run();
  EXPECT_THAT(events_, ElementsAre("open gallery", "open adam", "open evaluate", "save adam",
                                   "flow gallery 0", "flow train 0", "save adam", "flow gallery 0",
                                   "flow evaluate 0", "save adam", "close evaluate", "close adam",
                                   "close gallery"));
}

TEST_F(RunPipelineTest, AFailedFlowEndsTheRunAndClosesTheStages) {
  add_stages();
  flows_.script = [](const FlowOptions& options, FlowResult& result) {
    if (options.run.epoch == 1) result.error = Error("broken", Fault::internal);
  };
  const RunSummary summary = run();
  EXPECT_EQ(summary.code, ExitCode::internal);
  EXPECT_EQ(summary.position.epochs_done, 1);
  EXPECT_THAT(summary.error->full_message(), HasSubstr("running flow 'train' in epoch 2 of 3"));
  EXPECT_EQ(events_.back(), "close plain");
  EXPECT_THAT(file("summary.json"), HasSubstr("\"outcome\":\"internal error\""));
  EXPECT_THAT(file("run.log"), HasSubstr("broken"));
}

TEST_F(RunPipelineTest, AStagesErrorIsToldBeforeThatOfTheDiskItIsRecordedOn) {
  add_stages();
  std::optional<FullDisk> disk;
  flows_.script = [&](const FlowOptions& /*options*/, FlowResult& result) {
    disk.emplace();
    result.error = Error("broken", Fault::internal);
  };
  const RunSummary summary = run();
  disk.reset();
  EXPECT_EQ(summary.code, ExitCode::internal);
  EXPECT_THAT(summary.error->full_message(), HasSubstr("broken"));
  EXPECT_THAT(messages_.str(),
              AllOf(HasSubstr("the metrics and logs of flow 'train' are incomplete"),
                    HasSubstr("metrics.jsonl': File too large"),
                    HasSubstr("summary.json.part': File too large")));
}

TEST_F(RunPipelineTest, ADiskThatIsFullEndsARunInWhichNothingElseFailed) {
  add_stages();
  std::optional<FullDisk> disk;
  flows_.script = [&](const FlowOptions& /*options*/, FlowResult& result) {
    disk.emplace();
    result.skipped = 2;
  };
  const RunSummary summary = run();
  disk.reset();
  EXPECT_EQ(summary.code, ExitCode::data);
  EXPECT_THAT(summary.error->full_message(),
              AllOf(HasSubstr("metrics.jsonl': File too large"),
                    HasSubstr("recording flow 'train' in epoch 1 of 3")));
  EXPECT_EQ(summary.skipped_packets, 2U);
}

TEST_F(RunPipelineTest, AFullDiskIsNoDefectWhereAReportsFolderCannotBeMade) {
  add_stages();
  flows_.script = [this](const FlowOptions& options, FlowResult& /*result*/) {
    folder_.write("run/reports", "in the way");
    options.run.services->report("judge", "A table", "text");
  };
  EXPECT_EQ(run().code, ExitCode::data);
}

TEST_F(RunPipelineTest, AnEngineThatThrowsIsADefect) {
  add_stages();
  flows_.script = [](const FlowOptions& /*options*/, FlowResult& /*result*/) {
    throw std::logic_error("engine");
  };
  EXPECT_EQ(run().code, ExitCode::internal);
  EXPECT_EQ(events_.back(), "close plain");
}

TEST_F(RunPipelineTest, AStageThatCannotOpenClosesThoseThatAreOpen) {
  add_stage("first", {}, "train");
  add_stage("second", {.fails_in = "open"}, "train");
  const RunSummary summary = run();
  EXPECT_EQ(summary.code, ExitCode::data);
  EXPECT_THAT(events_, ElementsAre("open first", "open second", "close first"));
}

TEST_F(RunPipelineTest, AStageThatCannotSaveEndsTheRun) {
  add_stage("model", {.keeps_state = true, .fails_in = "save"}, "train");
  EXPECT_THAT(run(), fails_with(ExitCode::data, HasSubstr("stage 'model'")));
}

TEST_F(RunPipelineTest, AStageThatCannotCloseIsTheRunsFaultAtTheEnd) {
  add_stage("model", {.fails_in = "close"}, "train");
  const RunSummary summary = run();
  EXPECT_EQ(summary.code, ExitCode::data);
  EXPECT_TRUE(summary.complete);
}

/// A training flow `train`: `plain`, which skips packets after a resume, and `model`.
class PointTest : public RunPipelineTest {
 protected:
  PointTest() {
    add_stage("plain", {}, "train");
    add_stage("model", {.on_compute = true, .keeps_state = true, .trains = true}, "train");
  }
  /// In epoch 1 two steps are done, and the run is asked to stop.
  void stop_within_epoch_1() {
    flows_.script = [this](const FlowOptions& options, FlowResult& result) {
      if (options.run.epoch != 1) return;
      options.run.services->metric("model", "loss", 1.5);
      options.run.services->metric("model", "loss", 2.5);
      stop_.soon = true;
      result.cancelled = true;
      said_ = options.keeper->keep(point_, {passed_over_, {"model"}});
      if (!said_.empty()) options.keeper->cannot_keep(said_);
    };
  }
  RunSummary go_on() {
    stop_.soon = false;
    flows_.script = [this](const FlowOptions& options, FlowResult& /*result*/) {
      if (options.run.epoch != 1) return;
      from_ = options.from;
      options.keeper->going_on({passed_over_, {"model"}});
      options.run.services->metric("model", "loss", 3.5);
    };
    return resume();
  }

  FlowPoint point_{2, 6, 1, {{"plain", "a.jpg", "no picture", Fault::data}}};
  FlowPoint from_;
  std::vector<std::string> passed_over_;
  std::string said_;
};

TEST_F(PointTest, ARunGoesOnWithinAFlow) {
  stop_within_epoch_1();
  const RunSummary stopped = run();
  EXPECT_EQ(stopped.code, ExitCode::cancelled);
  EXPECT_EQ(stopped.steps_done, 2U);
  EXPECT_THAT(messages_.str(),
              HasSubstr("in epoch 2 of 3, after step 2 of flow 'train'; the newest "
                        "checkpoint is epoch-1-step-2.safetensors"));
  EXPECT_EQ(go_on().code, ExitCode::success);
  EXPECT_EQ(from_, point_);
  EXPECT_EQ(flows_.last_options.run.epoch, 2);
  EXPECT_EQ(flows_.last_options.from, FlowPoint()) << "the next flow begins at its start";
  const std::string loss = R"({"epoch":1,"flow":"train","stage":"model","name":"loss","step":)";
  EXPECT_THAT(file("metrics.jsonl"),
              AllOf(HasSubstr(loss + "0,\"value\":1.5}"), HasSubstr(loss + "1,\"value\":2.5}"),
                    HasSubstr(loss + "2,\"value\":3.5}"), Not(HasSubstr(loss + "3"))));
  EXPECT_THAT(file("metrics.jsonl"), Not(HasSubstr(R"("name":"flows","step":1)")))
      << "values that a stage records when it begins are in the checkpoint";
}

TEST_F(PointTest, OfAllRanksTheFirstOneWritesIt) {
  for (const int rank : {0, 1}) {
    seam::testing::EchoRanks ranks(rank);
    options_.ranks = &ranks;
    options_.stop = nullptr;
    options_.run_directory = folder_.path() / ("rank-" + std::to_string(rank));
    stop_within_epoch_1();
    const RunSummary stopped = run();
    EXPECT_EQ(stopped.code, ExitCode::cancelled);
    EXPECT_EQ(stopped.steps_done, 2U);
    EXPECT_EQ(fs::exists(options_.run_directory / "checkpoints/epoch-1-step-2.safetensors"),
              rank == 0);
  }
}

TEST_F(PointTest, MetricsOfTheTailAloneAreLeftOutAndNamed) {
  stop_within_epoch_1();
  passed_over_ = {"quiet"};  // which records at the end of a flow
  run();
  ASSERT_EQ(said_, "");
  stop_.soon = false;
  flows_.script = [this](const FlowOptions& options, FlowResult& /*result*/) {
    if (options.run.epoch == 1) options.keeper->going_on({passed_over_, {"model"}});
    options.run.services->metric("quiet", "seen", 7);
  };
  EXPECT_EQ(resume().code, ExitCode::success);
  EXPECT_THAT(messages_.str(), HasSubstr("the metrics of stage 'quiet' in flow 'train' are omitted "
                                         "this time"));
  EXPECT_THAT(file("metrics.jsonl"),
              Not(HasSubstr(R"({"epoch":1,"flow":"train","stage":"quiet")")));
}

TEST_F(PointTest, MetricsOfPacketsThatWouldNotComeAgainStandInTheWay) {
  stop_within_epoch_1();
  passed_over_ = {"plain"};  // which records how many flows it began
  run();
  EXPECT_THAT(said_, HasSubstr("stage 'plain' records metrics"));
  EXPECT_THAT(messages_.str(), AllOf(HasSubstr("the work of flow 'train' since the last "
                                               "checkpoint is lost and will be repeated: stage "
                                               "'plain' records"),
                                     HasSubstr("the newest checkpoint is epoch-1.safetensors")));
}

TEST_F(PointTest, AShareOfErrorsIsJudgedOverAWholeFlow) {
  pipeline_.spec.max_error_share = 0.5;
  stop_within_epoch_1();
  run();
  EXPECT_THAT(said_, HasSubstr("max_errors"));
}

TEST_F(PointTest, OfAnotherScheduleItIsRefused) {
  stop_within_epoch_1();
  run();
  pipeline_.spec.flows.front().name = "fit";
  pipeline_.spec.schedule.each_epoch = {{"fit", 1}};
  EXPECT_THAT(go_on(),
              fails_with(ExitCode::configuration,
                         HasSubstr("within flow 'train', but at this point the schedule in "
                                   "resolved.toml runs flow 'fit'")));
}

TEST_F(PointTest, AStopBeforeTheFlowGoesOnLeavesItsPoint) {
  pipeline_.spec.schedule.before = {"train"};
  pipeline_.spec.schedule.each_epoch = {{"train", 1}};
  flows_.script = [this](const FlowOptions& options, FlowResult& result) {
    options.run.services->metric("model", "loss", 1.5);
    stop_.soon = true;
    result.cancelled = true;
    said_ = options.keeper->keep(point_, {passed_over_, {"model"}});
  };
  run();
  const std::string kept = file("checkpoints/epoch-0-step-2.safetensors");
  EXPECT_EQ(resume().code, ExitCode::cancelled) << "stop_.soon is still set";
  EXPECT_EQ(file("checkpoints/epoch-0-step-2.safetensors"), kept);
}

TEST_F(PointTest, AreWantedAfterEveryNStepsOrMinutesSinceTheLastCheckpoint) {
  std::chrono::steady_clock::time_point now;
  options_.now = [&now] { return now; };
  pipeline_.spec.schedule.epochs = 1;
  std::vector<std::uint64_t> wanted;
  std::uint64_t not_ready = 0;  // no stage is ready then: due until one is kept
  flows_.script = [&](const FlowOptions& options, FlowResult& /*result*/) {
    for (std::uint64_t steps = 1; steps <= 9; ++steps) {
      now += std::chrono::minutes(1);
      if (!options.keeper->wants_point(steps)) continue;
      wanted.push_back(steps);
      if (steps == not_ready) continue;
      EXPECT_EQ(options.keeper->keep({steps, 9, 0, {}}, {{}, {"model"}}), "");
    }
  };
  CheckpointEvery& every = pipeline_.spec.schedule.checkpoint_every;
  every.steps = 3;
  not_ready = 3;
  EXPECT_EQ(run().code, ExitCode::success);
  EXPECT_THAT(wanted, ElementsAre(3, 4, 6, 9));
  EXPECT_FALSE(fs::exists(folder_.path() / "run/checkpoints/epoch-0-step-9.safetensors"))
      << "checkpoints within an epoch are removed at its end";
  wanted.clear();
  every.steps.reset();
  every.minutes = 2;
  not_ready = 4;  // the checkpoint after 5 is the last one then
  options_.run_directory = folder_.path() / "other";
  EXPECT_EQ(run().code, ExitCode::success);
  EXPECT_THAT(wanted, ElementsAre(2, 4, 5, 7, 9));
}

TEST_F(RunPipelineTest, TheDisplayLearnsWhenTheRunEndsFromTheLastEpochsTime) {
  add_stages();
  add_flow("judge", "judge");
  pipeline_.spec.schedule.each_epoch = {{"train", 1}, {"judge", 1}};
  pipeline_.spec.schedule.epochs = 4;
  std::chrono::steady_clock::time_point now;
  options_.now = [&now] { return now; };
  std::vector<std::optional<double>> left;
  flows_.script = [&](const FlowOptions& options, FlowResult& /*result*/) {
    left.push_back(display_.now().run_seconds_left);
    const bool slow = options.run.epoch == 1;  // epochs of 90, 180, 90 and 90 seconds
    now += std::chrono::seconds((options.run.flow == "train" ? 60 : 30) * (slow ? 2 : 1));
  };
  EXPECT_EQ(run().code, ExitCode::success);
  EXPECT_THAT(left, ElementsAre(std::nullopt, std::nullopt,  // no estimate yet
                                3 * 90, 2 * 90 + 0,          // judge: the epoch's 90 s are over
                                2 * 180, 180 + 120,          //
                                90, 30));
}

TEST_F(RunPipelineTest, AFlowThatDoesNotTrainIsDoneAgainAfterThoseBeforeIt) {
  add_stage("model", {.keeps_state = true}, "train");
  add_flow("judge", "counter", {.keeps_state = true});
  pipeline_.spec.schedule.each_epoch = {{"train", 1}, {"judge", 1}};
  stop_in(1, "judge");
  EXPECT_EQ(run().code, ExitCode::cancelled);
  EXPECT_TRUE(fs::exists(folder_.path() / "run/checkpoints/epoch-1-flow-1.safetensors"));
  EXPECT_THAT(messages_.str(), HasSubstr("in epoch 2 of 3, after 1 of its flows"));
  EXPECT_EQ(go_on().code, ExitCode::success);
  EXPECT_THAT(events_, Contains("flow judge 1"));
  EXPECT_THAT(events_, Not(Contains("flow train 1")));
  // The state counts the flows: the one that was stopped must not count twice.
  const std::string flows = R"("flow":"judge","stage":"counter","name":"flows","step":0,"value":)";
  EXPECT_THAT(file("metrics.jsonl"), AllOf(HasSubstr(R"("epoch":1,)" + flows + "2}"),
                                           HasSubstr(R"("epoch":2,)" + flows + "3}")));
}

TEST_F(RunPipelineTest, AStageThatEndsItselfOnRequestIsNoFailure) {
  add_stages();
  flows_.script = [this](const FlowOptions& /*options*/, FlowResult& result) {
    stop_.soon = true;
    result.error = Error("stopped in the middle", Fault::cancelled);
  };
  const RunSummary summary = run();
  EXPECT_EQ(summary.code, ExitCode::cancelled);
  EXPECT_FALSE(summary.error);
}

TEST_F(RunPipelineTest, ACheckpointWithoutAStagesStateIsRefused) {
  add_stage("plain", {}, "train");
  run();
  pipeline_.spec.schedule.epochs = 5;  // otherwise there is nothing left to do
  add_stage("model", {.keeps_state = true}, "train");
  EXPECT_THAT(resume(),
              fails_with(ExitCode::configuration, HasSubstr("no state for stage 'model'")));
}

TEST_F(RunPipelineTest, AStateThatDoesNotFitIsAMatterOfConfiguration) {
  add_stages();
  pipeline_.spec.schedule.epochs = 1;
  run();
  pipeline_.spec.schedule.epochs = 2;
  pipeline_.stages.erase("model");
  pipeline_.spec.stages.pop_back();
  add_stage("model", {.keeps_state = true, .fails_in = "load"}, "");
  EXPECT_THAT(resume(), fails_with(ExitCode::configuration, HasSubstr("loading its saved state")));
}

/// train and fill every 2nd epoch, evaluate every epoch: `gallery` is filled by fill and read by
/// evaluate.
class MadeByFlowTest : public RunPipelineTest {
 protected:
  MadeByFlowTest() {
    pipeline_.spec.schedule.each_epoch = {{"train", 1}, {"fill", 2}, {"evaluate", 1}};
    pipeline_.spec.schedule.epochs = 4;
    add_stages();
    add_flow("fill", "gallery", {.keeps_state = true, .kept = Kept::until_next_flow});
    add_flow("evaluate", "search").references = {{"index", "gallery"}};
  }
  [[nodiscard]] bool saved(std::int64_t epochs) const {
    const Checkpoint checkpoint = read_checkpoint(
        folder_.path() / "run/checkpoints" / ("epoch-" + std::to_string(epochs) + ".safetensors"));
    return std::ranges::find(checkpoint.stages, "gallery", &StageState::name) !=
           checkpoint.stages.end();
  }
};

TEST_F(MadeByFlowTest, WhatTheScheduleFillsAgainIsNotSaved) {
  stop_in(3);
  EXPECT_EQ(run().position.epochs_done, 3);
  EXPECT_TRUE(saved(2)) << "epoch 2 does not fill it but reads it";
  EXPECT_FALSE(saved(3));
  EXPECT_EQ(go_on().code, ExitCode::success);
  EXPECT_THAT(events_, Not(Contains("load gallery")));
  EXPECT_THAT(events_, Contains("load model (compute)"));
}

TEST_F(MadeByFlowTest, WhatIsReadFirstIsSavedAndLoaded) {
  stop_in(2);
  run();
  EXPECT_EQ(go_on().code, ExitCode::success);
  EXPECT_THAT(events_, Contains("load gallery"));
}

TEST_F(MadeByFlowTest, AScheduleThatReadsFirstWhatWasNotSavedIsRefused) {
  stop_in(3);
  run();
  pipeline_.spec.schedule.each_epoch[1].every = 7;
  pipeline_.spec.schedule.epochs = 9;
  EXPECT_THAT(go_on(),
              fails_with(ExitCode::configuration, AllOf(HasSubstr("no state for stage 'gallery'"),
                                                        HasSubstr("restore the schedule"))));
}

TEST_F(RunPipelineTest, AChangedPipelineIsRefusedByKey) {
  add_stages();
  pipeline_.spec.resolved = "[stage.model]\nrate = 1\n[limits]\npackets = 256\n";
  run();
  const std::string resolved = file("resolved.toml");
  const auto change = [&](std::string text, const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
    folder_.write("run/resolved.toml", text);
  };
  pipeline_.spec.schedule.epochs = 4;
  change(resolved, "rate = 1", "rate = 2");
  const RunSummary refused = resume();
  EXPECT_EQ(refused.code, ExitCode::configuration);
  EXPECT_THAT(refused.error->full_message(),
              AllOf(HasSubstr("resolved.toml was changed after 'epoch-3.safetensors' was written: "
                              "stage.model.rate = 2 (was 1)"),
                    HasSubstr("seam run --from")));
  change(resolved, "packets = 256", "packets = 64  # changes no result");
  EXPECT_EQ(resume().code, ExitCode::success);
}

TEST_F(RunPipelineTest, ADefaultThatALaterVersionAddsIsNoChange) {
  add_stages();
  run();
  pipeline_.spec.schedule.epochs = 4;
  pipeline_.spec.resolved += "added = 1  # default\n";
  EXPECT_EQ(resume().code, ExitCode::success);
  EXPECT_THAT(file("resolved.toml"), Not(HasSubstr("added"))) << "a run has one pipeline";
}

/// Runs that start from a checkpoint of another run, with a different rate.
class FromRunTest : public RunPipelineTest {
 protected:
  FromRunTest() {
    add_stage("model", {.keeps_state = true}, "train");
    pipeline_.spec.resolved = "[stage.model]\nrate = 1\n";
  }
  void start_from_it() {
    before_ = pipeline_.spec;
    options_.before = &before_;
    options_.from = folder_.path() / "run";
    options_.run_directory = folder_.path() / "new";
    options_.start = Start::from;
  }
  /// Runs the other one first.
  RunSummary begin() {
    EXPECT_EQ(run().code, ExitCode::success);
    start_from_it();
    pipeline_.spec.resolved = "[stage.model]\nrate = 2\n";
    pipeline_.spec.schedule.epochs = 5;
    return run();
  }
  [[nodiscard]] fs::path fresh(const std::string& name) const {
    return folder_.path() / "new" / name;
  }

  PipelineSpec before_;
};

TEST_F(FromRunTest, TheOtherRunStaysAsItIs) {
  const RunSummary summary = begin();
  EXPECT_EQ(summary.code, ExitCode::success);
  EXPECT_EQ(summary.position.epochs_done, 5);
  EXPECT_THAT(file("resolved.toml"), HasSubstr("rate = 1"));
  EXPECT_TRUE(fs::exists(folder_.path() / "run/checkpoints/epoch-3.safetensors"));
  EXPECT_EQ(read_launch(folder_.path() / "new").from,
            (RunOrigin{(folder_.path() / "run").string(), "epoch-3.safetensors",
                       sha256_of_file(folder_.path() / "run/checkpoints/epoch-3.safetensors")}));
  EXPECT_THAT(messages_.str(),
              HasSubstr("starting from run/epoch-3.safetensors: stage.model.rate = 2 (was 1)"));
}

TEST_F(FromRunTest, ItIsResumedLikeAnyOther) {
  flows_.script = [](const FlowOptions& options, FlowResult& result) {
    if (options.run.epoch == 3) result.error = Error("no flow", Fault::data);
  };
  EXPECT_EQ(begin().code, ExitCode::data);
  flows_.script = nullptr;
  options_.run_directory = folder_.path() / "new";
  EXPECT_EQ(resume().code, ExitCode::success);
  EXPECT_THAT(messages_.str(), HasSubstr("resuming after epoch 3 of 5"));
}

TEST_F(FromRunTest, MoreEpochsReadWhatWasFilledBeforeTheFirst) {
  add_flow("fill", "gallery", {.keeps_state = true, .kept = Kept::until_next_flow});
  pipeline_.spec.schedule.before = {"fill"};
  add_stage("search", {}, "train").references = {{"index", "gallery"}};
  EXPECT_EQ(begin().code, ExitCode::success);
  EXPECT_THAT(events_, Contains("load gallery"));
}

TEST_F(FromRunTest, WithoutItsCheckpointsItDoesNotBeginAgain) {
  begin();
  fs::remove_all(fresh("checkpoints"));
  EXPECT_THAT(resume(), fails_with(ExitCode::configuration,
                                   HasSubstr("started from run/epoch-3.safetensors")));
}

TEST_F(FromRunTest, WhatIsRefusedLeavesNoFolder) {
  EXPECT_EQ(run().code, ExitCode::success);
  fs::remove_all(folder_.path() / "run/checkpoints");
  start_from_it();
  EXPECT_THAT(run(),
              fails_with(ExitCode::configuration, HasSubstr("no checkpoint between two epochs")));
  EXPECT_FALSE(fs::exists(folder_.path() / "new"));
}

TEST_F(FromRunTest, AStageOfEvaluationsOnlyMustStay) {
  tune_after_the_epochs();
  EXPECT_THAT(begin(), fails_with(ExitCode::configuration,
                                  HasSubstr("'stage.model.rate' changes how epochs are "
                                            "evaluated")))
      << "flow 'train' has no optimizer";
}

TEST_F(FromRunTest, WhatTrainsAfterTheEpochsIsNotGoneOnFrom) {
  add_stage("adam", {.trains = true}, "train");
  tune_after_the_epochs();
  EXPECT_EQ(begin().code, ExitCode::success);
  EXPECT_EQ(read_launch(folder_.path() / "new").from.checkpoint, "epoch-3.safetensors")
      << "not epoch-3-after.safetensors";
}

TEST_F(RunPipelineTest, FlowsAfterTheEpochsLeaveTheLastEpochsCheckpoint) {
  add_stage("model", {.keeps_state = true}, "train");
  tune_after_the_epochs();
  EXPECT_EQ(run().code, ExitCode::success);
  const fs::path checkpoints = folder_.path() / "run/checkpoints";
  EXPECT_EQ(read_checkpoint(checkpoints / "epoch-3.safetensors").trainings, 0);
  EXPECT_EQ(read_checkpoint(checkpoints / "epoch-3-after.safetensors").trainings, 1);
  EXPECT_EQ(resume().code, ExitCode::success);
  EXPECT_THAT(messages_.str(), HasSubstr("nothing left to do"));
}

TEST_F(RunPipelineTest, StagesAndTheRunsFolderLearnWhereAndInWhatItComputes) {
  add_stages();
  options_.numerics = {"cuda:1", Precision::bfloat16, false};
  EXPECT_EQ(run().code, ExitCode::success);
  EXPECT_EQ(flows_.last_options.run.device, "cuda:1");
  EXPECT_EQ(flows_.last_options.run.precision, Precision::bfloat16);
  EXPECT_FALSE(flows_.last_options.run.deterministic);
  EXPECT_THAT(file("summary.json"),
              HasSubstr(R"("device":"cuda:1","precision":"bfloat16","deterministic":false)"));
  EXPECT_THAT(messages_.str(), HasSubstr("computing on cuda:1 in bfloat16, not deterministic"));
}

TEST_F(RunPipelineTest, AResumeOnAnotherDeviceIsWarnedOfByName) {
  add_stages();
  run();
  pipeline_.spec.schedule.epochs = 4;
  EXPECT_EQ(resume().code, ExitCode::success);
  EXPECT_THAT(messages_.str(), Not(HasSubstr("the checkpoint was computed")));
  pipeline_.spec.schedule.epochs = 5;
  options_.numerics.device = "cuda:0";
  EXPECT_EQ(resume().code, ExitCode::success);
  EXPECT_THAT(messages_.str(), HasSubstr("the checkpoint was computed on cpu in float32, and the "
                                         "run continues on cuda:0 in float32"));
}

TEST_F(RunPipelineTest, SkippedPacketsCountOverTheWholeRun) {
  add_stages();
  pipeline_.spec.max_errors = 7;
  flows_.script = [](const FlowOptions& /*options*/, FlowResult& result) {
    result.skipped = 3;
    result.failures = {{"plain", "a.jpg", "ends early"}, {"plain", "b.jpg", "ends early"}};
  };
  const RunSummary summary = run();
  EXPECT_EQ(summary.code, ExitCode::success);
  EXPECT_EQ(summary.skipped_packets, 9U);
  EXPECT_EQ(flows_.last_options.max_errors, 1) << "the rest, for the third flow";
  const std::string skipped = file("skipped.jsonl");
  EXPECT_LT(skipped.find("a.jpg"), skipped.find("b.jpg"));
  EXPECT_THAT(skipped, HasSubstr("\"not_listed\":1}")) << "failures beyond the list are counted";
}

TEST_F(RunPipelineTest, ThePacketThatEndsARunIsNotSkipped) {
  add_stages();
  flows_.script = [](const FlowOptions& /*options*/, FlowResult& result) {
    StageCount count;
    count.stage = "plain";
    count.failed = 1;
    result.stages = {count};
    result.error = Error("ends early", Fault::data);
  };
  const RunSummary summary = run();
  EXPECT_EQ(summary.code, ExitCode::data);
  EXPECT_EQ(summary.skipped_packets, 0U);
  EXPECT_EQ(file("skipped.jsonl"), "");
}

TEST_F(RunPipelineTest, ReportsOfFlowsOutsideTheEpochsKeepTheirOwnNames) {
  add_stages();
  pipeline_.spec.schedule.before = {"train"};
  pipeline_.spec.schedule.each_epoch = {{"train", 1}, {"train", 1}};
  pipeline_.spec.schedule.after = {"train"};
  pipeline_.spec.schedule.epochs = 1;
  flows_.script = [](const FlowOptions& options, FlowResult& /*result*/) {
    options.run.services->report("some_recall", "Recall@K", "a table");
  };
  run();
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path() / "run/reports")) {
    names.push_back(entry.path().filename().string());
  }
  EXPECT_THAT(names, UnorderedElementsAre("before-train-some_recall-recall-k.md",
                                          "epoch-0000-train-some_recall-recall-k.md",
                                          "epoch-0000-train-some_recall-recall-k-2.md",
                                          "after-train-some_recall-recall-k.md"));
  EXPECT_THAT(file("metrics.jsonl"),
              AllOf(HasSubstr("\"when\":\"before\""), HasSubstr("\"when\":\"after\"")));
}

TEST_F(RunPipelineTest, CountsTrainingsAndKeepsMeansOverAResume) {
  add_stage("trainer", {.trains = true}, "train");
  add_flow("evaluate", "judge");
  pipeline_.spec.schedule.before = {"evaluate"};
  pipeline_.spec.schedule.each_epoch = {{"train", 1}, {"evaluate", 1}};
  std::vector<std::int64_t> trainings;
  flows_.script = [&](const FlowOptions& options, FlowResult& /*result*/) {
    if (options.run.flow != "evaluate") return;
    trainings.push_back(options.run.trainings);
    if (options.run.epoch == 1) throw Error("the power fails");
    options.run.services->metric("judge", "only_at_" + std::to_string(trainings.size()), 1);
  };
  EXPECT_NE(run().code, ExitCode::success);
  EXPECT_THAT(trainings, ElementsAre(0, 1, 2));

  flows_.script = [&](const FlowOptions& options, FlowResult& /*result*/) {
    if (options.run.flow == "evaluate") trainings.push_back(options.run.trainings);
  };
  const RunSummary resumed = resume();
  EXPECT_EQ(resumed.code, ExitCode::success);
  EXPECT_THAT(trainings, ElementsAre(0, 1, 2, 2, 3));
  EXPECT_TRUE(resumed.metrics.contains("judge.only_at_1")) << "from `before`, in the first process";
}

TEST_F(RunPipelineTest, AFlowsLineLeavesDetailsOfItsMetricsOut) {
  pipeline_.spec.flows.front().nodes.clear();
  add_stage("judge", {}, "train");
  flows_.script = [](const FlowOptions& options, FlowResult& /*result*/) {
    for (const char* name : {"r@1", "r@1.optimistic", "r@1.pessimistic", "r@10"}) {
      options.run.services->metric("judge", name, 0.5);
    }
  };
  EXPECT_EQ(run().code, ExitCode::success);
  EXPECT_THAT(messages_.str(), HasSubstr("judge.r@1 0.5, judge.r@10 0.5\n"));
}

TEST_F(RunPipelineTest, ARequestBeforeTheFirstFlowOpensNothingMore) {
  add_stages();
  stop_.soon = true;
  EXPECT_EQ(run().code, ExitCode::cancelled);
  EXPECT_THAT(events_, IsEmpty());
}

TEST_F(RunPipelineTest, AnInterruptedRunWithoutCheckpointSaysThatItBeginsAgain) {
  add_stages();
  stop_in(0);
  EXPECT_EQ(run().code, ExitCode::cancelled);
  EXPECT_THAT(messages_.str(), HasSubstr("there is no checkpoint yet"));
}

TEST_F(RunPipelineTest, AFolderInUseLeavesNoTrace) {
  add_stages();
  folder_.write("run/thesis.tex", "x");
  const RunSummary summary = run();
  EXPECT_EQ(summary.code, ExitCode::configuration);
  EXPECT_THAT(events_, IsEmpty());
  EXPECT_FALSE(fs::exists(folder_.path() / "run/summary.json"));
}

}  // namespace seam::host::run_test
