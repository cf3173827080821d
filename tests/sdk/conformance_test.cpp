#include "seam/conformance.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/matchers.hpp"

namespace seam::testing::conformance_test {

constexpr Field<std::int64_t> number{"number"};
constexpr Field<std::int64_t> doubled{"doubled"};

/// A correct stage. Each of those below makes one mistake.
class Double : public ParallelTransform {
 public:
  static constexpr std::string_view name = "test.double";
  void declare(Declaration& d) override {
    d.doc("Doubles the number.");
    d.parameter("times", times_, "by how much").range(1, 10);
    d.needs(number);
    d.provides(doubled);
  }
  void process(Packet& packet, Context& /*context*/) const override {
    packet.set(doubled, packet.get(number) * times_);
  }

 protected:
  std::int64_t times_ = 2;
};

const auto suite_of_double = conformance<Double>();

/// Holds every number back until the flow ends.
class Hold : public Collector {
 public:
  static constexpr std::string_view name = "test.hold";
  void declare(Declaration& d) override {
    d.doc("Holds packets back.");
    d.needs(number);
  }
  void begin(Context& /*context*/) override { held_.clear(); }
  void process(Packet packet, Emitter& /*emitter*/, Context& /*context*/) override {
    held_.push_back(std::move(packet));
  }
  More end(Emitter& emitter, Context& /*context*/) override {
    for (const Packet& packet : held_) emitter.emit(packet);
    return More::no;
  }

 protected:
  std::vector<Packet> held_;
};

const auto suite_of_hold = conformance<Hold>();

/// Counts packets over all flows, and keeps the count.
class Count : public Transform {
 public:
  static constexpr std::string_view name = "test.count";
  void declare(Declaration& d) override {
    d.doc("Counts.");
    d.keeps_state();
    d.needs(number);
    d.provides(doubled);
  }
  void process(Packet& packet, Context& /*context*/) override { packet.set(doubled, ++count_); }
  void save(Archive& archive) const override { archive.put("count", count_); }
  void load(const Archive& archive) override { count_ = archive.integer("count"); }

 protected:
  std::int64_t count_ = 0;
};

const auto suite_of_count = conformance<Count>();

template <class Stage>
Findings findings(std::string_view check, Example example = {}) {
  const Candidate candidate{std::string(Stage::name), [] { return std::make_unique<Stage>(); },
                            std::move(example)};
  for (const Check& known : conformance_checks()) {
    if (known.name == check) return known.run(candidate);
  }
  ADD_FAILURE() << "no check " << check;
  return {};
}

class Silent final : public Double {
 public:
  static constexpr std::string_view name = "Test.Silent";
  void declare(Declaration& d) override {
    d.parameter("Times", times_, "").range(3, 10).renamed_from("factor");
    d.parameter("factor", times_, "the same");
    d.needs(Field<std::int64_t>{"number", "f32[N"});
    d.headline("", Better::higher);
  }
};

TEST(Conformance, AStageSaysWhatItIs) {
  const Findings found = findings<Silent>("DescribesItself");
  EXPECT_THAT(found, Contains(HasSubstr("'Test.Silent' is not a stage name")));
  EXPECT_THAT(found, Contains(HasSubstr("declare() does not describe the stage")));
  EXPECT_THAT(found, Contains(HasSubstr("parameter 'Times' must consist of lower-case letters")));
  EXPECT_THAT(found, Contains(HasSubstr("parameter 'Times' has no description")));
  EXPECT_THAT(found, Contains(HasSubstr("parameter 'Times' rejects its own default")));
  EXPECT_THAT(found, Contains(HasSubstr("two parameters 'factor'")));
  EXPECT_THAT(found, Contains(HasSubstr("the contract of field 'number'")));
  EXPECT_THAT(found, Contains("a headline names no metric"));
}

class Unfounded final : public Double {
 public:
  void declare(Declaration& d) override {
    Double::declare(d);
    d.preset("preset", options_, "which", {{"small", Options{1}}, {"large", Options{2}}});
    d.parameter("size", options_.size, "of it").only_with("preset", "huge");
    d.parameter("form", form_, "of it").only_with("shape", "round");
    d.parameter("part", part_, "of it").replicate("parts", Value{1});
  }

 private:
  struct Options {
    int size = 3;
  };
  Options options_;
  int form_ = 0;
  int part_ = 0;
};

TEST(Conformance, PresetsAndConditionsAreSound) {
  const Findings found = findings<Unfounded>("DescribesItself");
  EXPECT_THAT(found, Contains(HasSubstr("does not begin with the value of preset 'small'")));
  EXPECT_THAT(found, Contains(HasSubstr("depends on a value that 'preset' rejects: \"huge\"")));
  EXPECT_THAT(found, Contains("parameter 'form' depends on 'shape', which is not a parameter"));
  EXPECT_THAT(found, Contains("parameter 'part' depends on 'parts', which is not a parameter"));
}

class Trusting final : public Double {
 public:
  void open(Context& /*context*/) override {
    if (times_ == 7) throw std::runtime_error("seven");
  }
};

TEST(Conformance, BadParametersAreTheUsersFault) {
  EXPECT_THAT(
      findings<Trusting>("RefusesBadParameters",
                         {.refused = {{{"times", std::int64_t{6}}}, {{"times", std::int64_t{7}}}}}),
      ElementsAre(HasSubstr("times = 6 is accepted"),
                  HasSubstr("times = 7 is rejected, but not with Fault::configuration")));
}

class Snooping final : public Double {
 public:
  void process(Packet& packet, Context& /*context*/) const override {
    packet.set(doubled, packet.get(field::index));
  }
};

class Meddling final : public Double {
 public:
  void process(Packet& packet, Context& context) const override {
    Double::process(packet, context);
    ++packet[number];
    packet.set(field::index, 3);
  }
};

std::vector<Packet> numbered(Harness& /*harness*/) {
  std::vector<Packet> packets(4);
  for (Packet& packet : packets) {
    packet.set(number, 1);
    packet.set(field::index, 2);
  }
  return packets;
}

TEST(Conformance, OnlyDeclaredFieldsAreReadAndWritten) {
  EXPECT_THAT(findings<Snooping>("WorksOnItsExample", {.packets = &numbered}),
              Contains(HasSubstr("index")));
  EXPECT_THAT(findings<Meddling>("WorksOnItsExample", {.packets = &numbered}),
              AllOf(Contains(HasSubstr("it changes field 'number', but does not declare it")),
                    Contains(HasSubstr("it adds field 'index', but does not declare it"))));
}

class Scribbling final : public Double {
 public:
  void declare(Declaration& d) override {
    d.doc("Writes into an image that it shares.");
    d.needs(field::image);
  }
  void process(Packet& packet, Context& /*context*/) const override {
    Image image = packet.get(field::image);
    image.data()[0] ^= 1;
  }
};

TEST(Conformance, ValuesThatOthersShareAreNotWritten) {
  EXPECT_THAT(findings<Scribbling>("WorksOnItsExample"),
              Contains(HasSubstr("it modifies a packet's value in place, although other packets "
                                 "may share it: field 'image' has a different value")));
}

/// Declares a contract that its key does not have.
class Uneven final : public Double {
 public:
  void declare(Declaration& d) override {
    d.doc("Labels the first two rows of a batch.");
    d.needs(field::indices);
    d.provides(labels).contract("*[N]");
  }
  void process(Packet& packet, Context& /*context*/) const override { packet.set(labels, {1, 2}); }

 private:
  static constexpr Field<std::vector<std::int64_t>> labels{"labels"};
};

TEST(Conformance, RowsAreCountedWhereverAContractNamesThem) {
  EXPECT_THAT(findings<Uneven>("WorksOnItsExample"),
              Contains(HasSubstr("'indices' has 3 rows and 'labels' has 2 rows")));
}

class OfAnotherType final : public Double {
 public:
  void declare(Declaration& d) override {
    Double::declare(d);
    d.provides(Field<std::int32_t>{"index"});
  }
};

TEST(Conformance, ASharedNameKeepsItsType) {
  EXPECT_THAT(findings<OfAnotherType>("DescribesItself"),
              ElementsAre(HasSubstr("field 'index' is shared by all plugins and is of type "
                                    "std::int64_t, not int; rename your own field")));
}

class Failing final : public Double {
 public:
  void process(Packet& /*packet*/, Context& /*context*/) const override {
    throw Error("the lamp is broken");
  }
};

TEST(Conformance, SaysThatFieldsWereTakenAwayOnlyWhereTheyWere) {
  EXPECT_THAT(findings<Failing>("WorksOnItsExample"),
              ::testing::Each(HasSubstr("the lamp is broken")));
  EXPECT_THAT(findings<Failing>("WorksOnItsExample", {.packets = &numbered}),
              Contains(HasSubstr("field 'index' was removed from the example packets")));
}

TEST(MadeUpPackets, ListsOfABatchAreOfOneLengthAndOthersKeepTheirContract) {
  constexpr Field<std::vector<double>> corners{"corners", "*[4]"};
  Declaration declaration;
  declaration.needs(field::indices);
  declaration.needs(field::origins);
  declaration.needs(corners);
  std::vector<std::size_t> rows;
  for (const Packet& packet : made_up_packets(declaration.description())) {
    EXPECT_EQ(packet.row_mismatch(), "");
    EXPECT_EQ(packet.get(corners).size(), 4U);
    const std::vector<std::int64_t>& indices = packet.get(field::indices);
    EXPECT_EQ(std::set(indices.begin(), indices.end()).size(), indices.size())
        << "each row has a different item";
    rows.push_back(packet.get(field::indices).size());
  }
  EXPECT_THAT(rows, ElementsAre(2, 3, 1, 2, 3, 1));
}

class Blob {};
constexpr Field<Blob> blob{"blob"};

class OfAnUnknownType final : public Sink {
 public:
  static constexpr std::string_view name = "test.blobs";
  void declare(Declaration& d) override { d.needs(blob); }
  void process(const Packet& /*packet*/, Context& /*context*/) override {}
};

TEST(Conformance, AsksForPacketsThatItCannotMakeUp) {
  EXPECT_THAT(
      findings<OfAnUnknownType>("WorksOnItsExample"),
      ElementsAre(AllOf(HasSubstr("field 'blob'"), HasSubstr("set the packets of the example"))));
}

class Required final : public Double {
 public:
  void declare(Declaration& d) override {
    Double::declare(d);
    d.parameter("weights", weights_, "a file").required();
  }

 private:
  std::string weights_;
};

TEST(Conformance, AsksForParametersThatAreRequired) {
  EXPECT_THAT(findings<Required>("WorksOnItsExample"),
              ElementsAre("parameter 'weights' is required: set it in the example's parameters"));
  EXPECT_THAT(
      findings<Required>("WorksOnItsExample", {.parameters = {{"weights", std::string("a")}}}),
      IsEmpty());
}

class Swallowing final : public Hold {
 public:
  void process(Packet packet, Emitter& emitter, Context& context) override {
    if (held_.size() < 2) Hold::process(std::move(packet), emitter, context);
  }
};

TEST(Conformance, PacketsDoNotVanish) {
  EXPECT_THAT(findings<Swallowing>("AccountsForEveryPacket"),
              Contains("packet 2 was received, but neither emitted nor dropped"));
}

class Doubling final : public Hold {
 public:
  void process(Packet packet, Emitter& emitter, Context& context) override {
    emitter.drop(packet, "held back");
    Hold::process(std::move(packet), emitter, context);
  }
};

TEST(Conformance, PacketsAreNotAccountedForTwice) {
  EXPECT_THAT(
      findings<Doubling>("AccountsForEveryPacket"),
      Contains(HasSubstr("is accounted for more than once: it was emitted or dropped 2 times")));
}

class Dividing final : public Hold {
 public:
  More end(Emitter& emitter, Context& context) override {
    if (held_.empty()) throw std::logic_error("divided by nothing");
    return Hold::end(emitter, context);
  }
};

TEST(Conformance, AnEmptyFlowIsAFlow) {
  EXPECT_THAT(findings<Dividing>("EndsAnEmptyFlow"), Contains(HasSubstr("divided by nothing")));
}

class Forgetful final : public Hold {
 public:
  void begin(Context& /*context*/) override {}  // and therefore keeps its state
};

TEST(Conformance, WhatAFlowHeldBackDoesNotComeTwice) {
  EXPECT_THAT(findings<Forgetful>("EndsOnce"),
              ElementsAre(HasSubstr("state leaks from a flow into the next, empty one: the number "
                                    "of packets that came out was 0, then 6")));
  EXPECT_THAT(findings<Forgetful>("KeepsItsState"),
              ElementsAre(HasSubstr("a flow depends on the one before, but nothing is saved")));
}

class Racing final : public Double {
 public:
  void process(Packet& packet, Context& /*context*/) const override {
    static std::atomic<std::int64_t> calls = 0;
    packet.set(doubled, ++calls);
  }
};

TEST(Conformance, ThreadsAndRepetitionDoNotShow) {
  EXPECT_THAT(findings<Racing>("GivesTheSameBytes"),
              Contains(HasSubstr("packet 0 field 'doubled' has a different value")));
}

/// Adds the category to the number, if the packet has one.
class Peeking : public Double {
 public:
  void declare(Declaration& d) override {
    Double::declare(d);
    d.accepts(field::category);
  }
  void process(Packet& packet, Context& /*context*/) const override {
    const std::int64_t category = packet.has(field::category) ? packet.get(field::category) : 0;
    packet.set(doubled, packet.get(number) + category);
  }
};

class OpenlyPeeking final : public Peeking {
 public:
  void declare(Declaration& d) override {
    Peeking::declare(d);
    d.reads_label(field::category.name);
  }
};

/// Only checks whether the category is that of the previous packet.
class Comparing final : public Transform {
 public:
  static constexpr std::string_view name = "test.comparing";
  void declare(Declaration& d) override {
    d.doc("Compares.");
    d.needs(number);
    d.accepts(field::category);
    d.provides(doubled);
  }
  void begin(Context& /*context*/) override { before_.reset(); }
  void process(Packet& packet, Context& /*context*/) override {
    packet.set(doubled, std::int64_t{before_ == packet[field::category] ? 1 : 0});
    before_ = packet[field::category];
  }

 private:
  std::optional<std::int64_t> before_;
};

TEST(Conformance, LabelsAreNotReadOnTheQuiet) {
  Example example;
  example.packets = [](Harness& /*harness*/) {
    std::vector<Packet> packets(2);
    for (std::size_t i = 0; i < packets.size(); ++i) {
      packets[i].set(number, 5);
      packets[i].set(field::category, static_cast<std::int64_t>(i));
    }
    return packets;
  };
  EXPECT_THAT(findings<Peeking>("OwnsUpToLabels", example),
              ElementsAre(HasSubstr("in evaluation: packet 1 field 'doubled' has a different "
                                    "value; declare() must call reads_label()")));
  EXPECT_THAT(findings<OpenlyPeeking>("OwnsUpToLabels", example), IsEmpty());
  EXPECT_THAT(findings<Comparing>("OwnsUpToLabels", example),
              ElementsAre(HasSubstr("packet 1 field 'doubled' has a different value")));
  // The check runs in evaluation even if the example only trains.
  example.training = true;
  EXPECT_THAT(findings<Peeking>("OwnsUpToLabels", example), SizeIs(1));
}

class FailingInTraining final : public Double {
 public:
  void process(Packet& packet, Context& context) const override {
    if (context.training()) throw Error("the lamp is broken");
    Double::process(packet, context);
  }
};

TEST(Conformance, FlowsTrainAndEvaluate) {
  EXPECT_THAT(findings<FailingInTraining>("WorksOnItsExample"),
              Contains(AllOf(StartsWith("in training: "), HasSubstr("the lamp is broken"))));
  EXPECT_THAT(findings<FailingInTraining>("WorksOnItsExample", {.training = false}), IsEmpty());
}

/// Keeps a count, and holds back a packet without saving it.
class HoldingAndCounting final : public Hold {
 public:
  void declare(Declaration& d) override {
    Hold::declare(d);
    d.keeps_state();
  }
  void begin(Context& /*context*/) override {}
  void save(Archive& archive) const override {
    archive.put("count", static_cast<std::int64_t>(held_.size()));
  }
  void load(const Archive& /*archive*/) override {}
};

TEST(Conformance, AStageWithStateForgetsWhatItDoesNotSave) {
  EXPECT_THAT(findings<HoldingAndCounting>("EndsOnce"),
              ElementsAre(HasSubstr("the number of packets that came out was 0, then 6")));
}

/// Uses `bonus` only with `generous`, and `deaf` never.
class Generous final : public Double {
 public:
  void declare(Declaration& d) override {
    Double::declare(d);
    d.parameter("generous", generous_, "whether there is a bonus");
    d.parameter("bonus", bonus_, "what is added");
    d.parameter("names", names_, "what is added for each name");
    d.parameter("deaf", deaf_, "nothing");
  }
  void process(Packet& packet, Context& context) const override {
    Double::process(packet, context);
    if (!generous_) return;
    packet[doubled] += bonus_ + static_cast<std::int64_t>(names_.size());
  }

 private:
  bool generous_ = false;
  std::int64_t bonus_ = 1;
  std::vector<std::string> names_;
  double deaf_ = 1;
};

TEST(Conformance, ParametersWithoutEffectAreFound) {
  const std::string check = "EachParameterMatters";
  EXPECT_THAT(
      findings<Generous>(check),
      ElementsAre(HasSubstr("parameter 'bonus' changes nothing: 1 has the same effect as 2, 0"),
                  HasSubstr("parameter 'deaf' changes nothing: 1.0 has the same effect as 2.0")));
  EXPECT_THAT(findings<Generous>(check, {.parameters = {{"generous", true}},
                                         .second = {{"names", std::vector<std::string>{"Ann"}}},
                                         .without_effect = {{"deaf", "so that tests have one"}}}),
              IsEmpty());
  EXPECT_THAT(findings<Generous>(check, {.second = {{"names", std::vector<std::string>{"Ann"}}},
                                         .given = {{"bonus", {{"generous", true}}}},
                                         .without_effect = {{"deaf", "so that tests have one"}}}),
              ElementsAre(HasSubstr("parameter 'names' changes nothing")));
  EXPECT_THAT(
      findings<Generous>(
          check, {.parameters = {{"generous", true}},
                  .without_effect = {{"bonus", "unknown"}, {"deaf", ""}, {"blind", "misspelt"}}}),
      ElementsAre("the example sets 'blind', which is not a parameter",
                  "without_effect gives no reason for parameter 'deaf'",
                  HasSubstr("parameter 'bonus' is listed in without_effect, but 2 has an effect")));
}

class Amnesiac final : public Count {
 public:
  void load(const Archive& /*archive*/) override {}
};

class Secretive final : public Count {
 public:
  void declare(Declaration& d) override {
    d.doc("Counts.");
    d.needs(number);
    d.provides(doubled);
  }
};

TEST(Conformance, StateIsSavedAndTakenBack) {
  EXPECT_THAT(findings<Amnesiac>("KeepsItsState"),
              Contains("after load(), save() writes something different: 'count' differs"));
  EXPECT_THAT(findings<Amnesiac>("KeepsItsState"),
              Contains(HasSubstr("after load() its results differ: packet 0 field 'doubled'")));
  EXPECT_THAT(findings<Secretive>("KeepsItsState"),
              Contains("save() writes state, but declare() does not call keeps_state()"));
}

class Slamming final : public Double {
 public:
  void close() override { throw std::runtime_error("the door is stuck"); }
};

TEST(Conformance, ClosingIsAlwaysPossible) {
  EXPECT_THAT(findings<Slamming>("IsCancelledAnywhere"),
              Contains(AllOf(HasSubstr("closed in a flow"), HasSubstr("the door is stuck"))));
}

}  // namespace seam::testing::conformance_test
