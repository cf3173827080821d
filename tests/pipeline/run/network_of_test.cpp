#include "pipeline/run/network_of.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "seam/stage.hpp"
#include "tests/support/matchers.hpp"

namespace seam::host::network_of_test {

using Events = std::vector<std::string>;

/// Data that a network needs before it is created.
class Categories {
 public:
  virtual ~Categories() = default;
  [[nodiscard]] virtual std::int64_t count() const = 0;
};

class Labels final : public Sink, public Categories {
 public:
  explicit Labels(Events& events) : events_(events) {}
  void declare(Declaration& d) override { d.offers<Categories>(*this); }
  void open(Context& /*context*/) override {
    count_ = 7;
    events_.push_back("open labels");
  }
  void process(const Packet& /*packet*/, Context& /*context*/) override {}
  void close() override { events_.push_back("close labels"); }
  [[nodiscard]] std::int64_t count() const override { return count_; }

 private:
  Events& events_;
  std::int64_t count_ = 0;
};

/// One dense layer with one row per category.
class Classifier final : public Sink, public DescribesNetwork {
 public:
  Classifier(Events& events, bool fails) : events_(events), fails_(fails) {}
  void declare(Declaration& d) override {
    d.reference("labels", labels_, "the categories");
    d.offers<DescribesNetwork>(*this);
  }
  void open(Context& context) override {
    if (fails_) throw Error("no weights");
    rows_ = labels_->count();
    events_.push_back("open classifier on " + context.device());
  }
  void process(const Packet& /*packet*/, Context& /*context*/) override {}
  void close() override { events_.push_back("close classifier"); }
  [[nodiscard]] NetworkPart describe_network() const override {
    return {"network", "Linear", {{"weight", {rows_, 3}, TensorUse::trained}}, {}};
  }

 private:
  Events& events_;
  bool fails_;
  Ref<Categories> labels_;
  std::int64_t rows_ = 0;
};

/// "classifier", which refers to "labels".
CheckedPipeline pipeline(Events& events, bool fails = false) {
  CheckedPipeline pipeline;
  const auto add = [&](const std::string& name, std::unique_ptr<Stage> stage) {
    pipeline.spec.stages.emplace_back().name = name;
    pipeline.stages[name] = std::make_unique<StageRunner>(name, "test." + name, std::move(stage));
    pipeline.stages[name]->configure({});
  };
  add("classifier", std::make_unique<Classifier>(events, fails));
  add("labels", std::make_unique<Labels>(events));
  pipeline.spec.stages.front().references["labels"] = "labels";
  pipeline.stages["classifier"]->bind(
      "labels", pipeline.stages["labels"]->interface(type_name<Categories>()));
  return pipeline;
}

TEST(NetworkOf, OpensWhatTheStageRefersToAndClosesAll) {
  Events events;
  CheckedPipeline checked = pipeline(events);
  const auto network = network_of(checked, "classifier", 1);
  ASSERT_TRUE(network);
  EXPECT_EQ(size_of(*network).trained, 21);
  EXPECT_THAT(events, ElementsAre("open labels", "open classifier on cpu", "close classifier",
                                  "close labels"));
}

TEST(NetworkOf, AStageWithoutOneIsNotOpened) {
  Events events;
  CheckedPipeline checked = pipeline(events);
  EXPECT_FALSE(network_of(checked, "labels", 1));
  EXPECT_THAT(events, IsEmpty());
}

TEST(NetworkOf, WhereTheStageCannotBeOpenedTheOthersAreClosed) {
  Events events;
  CheckedPipeline checked = pipeline(events, true);
  EXPECT_REFUSED((void)network_of(checked, "classifier", 1), Fault::data, "no weights");
  EXPECT_THAT(events, ElementsAre("open labels", "close labels"));
}

}  // namespace seam::host::network_of_test
