/// A run over stages and flows that record their calls: RunPipelineTest.
#pragma once

#include <gmock/gmock.h>

#include <memory>
#include <sstream>
#include <utility>

#include "pipeline/run/run.hpp"
#include "seam/listing.hpp"
#include "seam/stage.hpp"
#include "tests/support/text.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host::run_test {

using seam::test::TemporaryFolder;

namespace fs = std::filesystem;

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
  std::optional<std::uint64_t> listing = {};
};

/// Records its calls; its state counts the flows that have begun.
class Scripted final : public Sink, public Listing {
 public:
  Scripted(std::string name, StageScript script)
      : name_(std::move(name)), script_(std::move(script)) {}

  void declare(Declaration& d) override {
    if (script_.keeps_state) d.keeps_state(script_.kept);
    if (script_.trains) d.trains();
    if (script_.listing) d.offers<Listing>(*this);
  }
  [[nodiscard]] std::uint64_t listing_digest() const override { return *script_.listing; }
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
  return ::testing::ExplainMatchResult(code, arg.code, result_listener) && arg.error.has_value() &&
         ::testing::ExplainMatchResult(message, arg.error->full_message(), result_listener);
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

}  // namespace seam::host::run_test
