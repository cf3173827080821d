#include <memory>
#include <new>
#include <optional>
#include <seam/runner.hpp>
#include <seam/testing.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/matchers.hpp"

namespace seam::runner_test {

using testing::Harness;

constexpr Field<std::int64_t> number{"number"};

Packet packet_of(std::int64_t value, const std::string& item = "item") {
  Packet packet(Origin{nullptr, 0, item});
  packet.set(number, value);
  return packet;
}

std::vector<std::int64_t> numbers_of(const std::vector<Packet>& packets) {
  std::vector<std::int64_t> numbers;
  for (const Packet& packet : packets) numbers.push_back(packet.get(number));
  return numbers;
}

/// Adds an amount; odd things happen at certain numbers.
class Add final : public ParallelTransform {
 public:
  void declare(Declaration& d) override {
    d.parameter("amount", amount_, "what is added").range(0, 100);
    d.parameter("forget", forget_, "leaves out what it promised");
    d.needs(number);
    d.provides(number);
  }
  void process(Packet& packet, Context& context) const override {
    if (packet.get(number) == 13) return context.drop("unlucky");
    if (packet.get(number) == 14) throw Error("fourteen", Fault::data);
    if (packet.get(number) == 15) throw std::runtime_error("fifteen");
    if (packet.get(number) == 16) throw 16;  // NOLINT: the wrapper must handle this
    if (packet.get(number) == 17) throw std::bad_alloc();
    if (packet.get(number) == 18) {
      throw std::runtime_error(
          "DefaultCPUAllocator: can't allocate memory: you tried to allocate 64 bytes.\n"
          "frame #0: c10::ThrowEnforceNotMet");
    }
    packet[number] += amount_;
    if (forget_) packet.erase(number);
  }

 private:
  std::int64_t amount_ = 1;
  bool forget_ = false;
};

TEST(Runner, AStageEntersTheThreadBeforeItIsOpened) {
  /// Records its calls.
  class Recorder final : public Sink {
   public:
    explicit Recorder(std::vector<std::string>& calls) : calls_(calls) {}
    void declare(Declaration& /*d*/) override {}
    void enter_thread(const Context& /*context*/) const override { calls_.emplace_back("enter"); }
    void open(Context& /*context*/) override { calls_.emplace_back("open"); }
    void process(const Packet& /*packet*/, Context& /*context*/) override {}

   private:
    std::vector<std::string>& calls_;
  };
  std::vector<std::string> calls;
  Harness("recorder", std::make_unique<Recorder>(calls)).open();
  EXPECT_THAT(calls, ElementsAre("enter", "open"));
}

TEST(Runner, ConfiguresAndTransforms) {
  Harness harness("add", std::make_unique<Add>());
  harness.set("amount", 10).push(packet_of(1)).push(packet_of(2)).finish();
  EXPECT_THAT(numbers_of(harness.outputs()), ElementsAre(11, 12));
}

TEST(HarnessErrors, AreToldWhereNoTestAsksForThem) {
  ::testing::internal::CaptureStderr();
  {
    Harness harness("add", std::make_unique<Add>());
    harness.push(packet_of(14)).push(packet_of(16)).finish();
    EXPECT_THAT(harness.outputs(), IsEmpty());
  }
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("stage 'add' failed on 2 packets"), HasSubstr("fourteen")));

  ::testing::internal::CaptureStderr();
  {
    Harness harness("add", std::make_unique<Add>());
    harness.push(packet_of(14));
    EXPECT_THAT(harness.errors(), SizeIs(1));
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(Runner, RefusesUnknownParametersAndValuesOutOfRange) {
  Harness harness("add", std::make_unique<Add>());
  EXPECT_REFUSED(harness.set("amuont", 1), Fault::configuration, "has no parameter 'amuont'");
  EXPECT_REFUSED(harness.set("amount", 101), Fault::configuration,
                 "101 is more than 100; it takes an integer from 0 to 100");
}

/// Adds what a preset and the file say.
class AddByPreset final : public ParallelTransform {
 public:
  void declare(Declaration& d) override {
    d.preset("which", options_, "how much", {{"little", Options{}}, {"much", Options{10, 20}}});
    d.parameter("amount", options_.amount, "what is added");
    d.parameter("once_more", options_.more, "what is added as well").only_with("which", "much");
    d.needs(number);
    d.provides(number);
  }
  void process(Packet& packet, Context& /*context*/) const override {
    packet[number] += options_.amount + options_.more;
  }

 private:
  struct Options {
    std::int64_t amount = 1;
    std::int64_t more = 2;
  };
  Options options_;
};

TEST(Runner, WhatIsSetOverridesAPreset) {
  const auto added = [](const Values& values) {
    Harness harness("add", std::make_unique<AddByPreset>());
    for (const auto& [name, value] : values) harness.set(name, value);
    harness.push(packet_of(0));
    return numbers_of(harness.outputs()).at(0);
  };
  EXPECT_EQ(added({}), 3);
  EXPECT_EQ(added({{"which", std::string("much")}}), 30);
  EXPECT_EQ(added({{"amount", std::int64_t{5}}, {"which", std::string("much")}}), 25);
  EXPECT_EQ(added({{"once_more", std::int64_t{5}}, {"which", std::string("much")}}), 15);
  StageRunner runner("add", "test.add", std::make_unique<AddByPreset>());
  runner.configure({{"which", std::string("much")}});
  EXPECT_EQ(runner.description().parameters[1].default_value, Value{std::int64_t{10}});
  runner.configure({{"which", std::string("little")}});
  EXPECT_EQ(runner.description().parameters[1].default_value, Value{std::int64_t{1}});
}

TEST(Runner, RefusesAParameterWithoutAnEffect) {
  Harness harness("add", std::make_unique<AddByPreset>());
  harness.set("once_more", 5);
  EXPECT_REFUSED(harness.open(), Fault::configuration,
                 "parameter 'once_more' of stage 'add' has no effect with which = \"little\"; "
                 "remove it, or set which to \"much\"");
}

TEST(Runner, ADroppedPacketGoesNoFurtherAndKeepsItsReason) {
  Harness harness("add", std::make_unique<Add>());
  harness.push(packet_of(13, "thirteen.jpg")).finish();
  EXPECT_TRUE(harness.outputs().empty());
  ASSERT_THAT(harness.drops(), SizeIs(1));
  EXPECT_EQ(harness.drops()[0].reason, "unlucky");
  EXPECT_EQ(harness.drops()[0].origin.item, "thirteen.jpg");
}

TEST(Runner, AnErrorNamesOriginAndStageAndKeepsItsFault) {
  Harness harness("plus", std::make_unique<Add>());
  harness.push(packet_of(14, "a.jpg")).finish();
  ASSERT_THAT(harness.errors(), SizeIs(1));
  EXPECT_EQ(harness.errors()[0].fault(), Fault::data);
  EXPECT_THAT(harness.errors()[0].full_message(),
              AllOf(HasSubstr("fourteen"), HasSubstr("a.jpg"), HasSubstr("stage 'plus'")));
}

TEST(Runner, WhateverAPluginThrowsBecomesAnError) {
  Harness harness("add", std::make_unique<Add>());
  harness.push(packet_of(15)).push(packet_of(16)).push(packet_of(1)).finish();
  ASSERT_THAT(harness.errors(), SizeIs(2));
  EXPECT_EQ(harness.errors()[0].fault(), Fault::internal);
  EXPECT_THAT(harness.errors()[0].what(), HasSubstr("fifteen"));
  EXPECT_EQ(harness.errors()[1].fault(), Fault::internal);
  EXPECT_THAT(numbers_of(harness.outputs()), ElementsAre(2));
}

TEST(Runner, TooLittleMemoryIsNoDefectAndSaysWhatToLower) {
  Harness harness("add", std::make_unique<Add>());
  harness.push(packet_of(17)).push(packet_of(18)).finish();
  ASSERT_THAT(harness.errors(), SizeIs(2));
  for (const Error& error : harness.errors()) {
    EXPECT_EQ(error.fault(), Fault::data);
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("not enough memory"), HasSubstr("lower the `size` of the batch"),
                      Not(HasSubstr("frame #0"))));
  }
  EXPECT_THAT(harness.errors()[1].what(), HasSubstr("allocate 64 bytes.)"));
}

TEST(Runner, APromisedFieldThatIsMissingIsTheStagesFault) {
  Harness harness("add", std::make_unique<Add>());
  harness.set("forget", Value{true}).push(packet_of(1)).finish();
  EXPECT_REFUSED(throw only_error(harness), Fault::internal, "field 'number', but it is missing");
}

class Transparent final : public Transform {
 public:
  void declare(Declaration& /*d*/) override {}
  void process(Packet& /*packet*/, Context& /*context*/) override {}
};

class Nowhere final : public Emitter {
 public:
  void emit(Packet /*packet*/) override {}
  void drop(const Packet& /*packet*/, std::string /*reason*/) override {}
};

/// Changes a field of the batch that it does not declare as provided.
class Shortens final : public Transform {
 public:
  void declare(Declaration& d) override { d.needs(field::indices); }
  void process(Packet& packet, Context& /*context*/) override { packet[field::indices].pop_back(); }
};

Packet batch_of(std::size_t rows) {
  Packet batch(Origin{nullptr, 0, "batch"});
  batch.set(field::indices, std::vector<std::int64_t>(rows));
  batch.set(field::items, std::vector<std::string>(rows));
  return batch;
}

TEST(Runner, RowsThatDoNotMatchAreTheStagesFaultWhateverItDeclares) {
  Harness harness("shorten", std::make_unique<Shortens>());
  harness.push(batch_of(3)).finish();
  ASSERT_THAT(harness.errors(), SizeIs(1));
  EXPECT_EQ(harness.errors()[0].fault(), Fault::internal);
  EXPECT_THAT(harness.errors()[0].full_message(),
              AllOf(HasSubstr("stage 'shorten': the fields of one batch must have the same number "
                              "of rows, but 'indices' has 2 rows and 'items' has 3 rows"),
                    HasSubstr("working on batch")));
  EXPECT_THAT(harness.outputs(), IsEmpty());
}

TEST(Runner, ABatchWithoutRowsIsABatch) {
  Harness harness("total", std::make_unique<Transparent>());
  harness.push(batch_of(0)).finish();
  EXPECT_THAT(harness.outputs(), SizeIs(1));
}

TEST(Harness, RefusesABatchThatNoStageWouldBeGiven) {
  Packet batch = batch_of(3);
  batch[field::items].pop_back();
  Harness harness("shorten", std::make_unique<Shortens>());
  EXPECT_REFUSED(harness.push(batch), Fault::internal,
                 "'indices' has 3 rows and 'items' has 2 rows");
}

/// Emits a batch whose second field is a row short.
class UnevenSource final : public Source {
 public:
  void declare(Declaration& d) override {
    d.provides(field::indices);
    d.provides(field::items);
  }
  More produce(Emitter& emitter, Context& /*context*/) override {
    Packet batch = batch_of(2);
    batch[field::items].pop_back();
    emitter.emit(std::move(batch));
    return More::no;
  }
};

TEST(Runner, ASourcesRowsAreCountedToo) {
  Harness harness("uneven", std::make_unique<UnevenSource>());
  harness.produce().finish();
  EXPECT_REFUSED(throw only_error(harness), Fault::internal,
                 "stage 'uneven': the fields of one batch must have the same number of rows, but "
                 "'indices' has 2 rows and 'items' has 1 row");
  EXPECT_THAT(harness.outputs(), IsEmpty());
}

TEST(Runner, ManyThreadsKeepTheOrder) {
  std::vector<Packet> packets;
  std::vector<std::int64_t> expected;
  for (std::int64_t i = 100; i < 400; ++i) {
    packets.push_back(packet_of(i));
    expected.push_back(i + 1);
  }
  Harness harness("add", std::make_unique<Add>());
  harness.push_all(std::move(packets), 4).finish();
  EXPECT_EQ(numbers_of(harness.outputs()), expected);
}

/// Emits `count` numbers, two per call.
class Count final : public Source {
 public:
  void declare(Declaration& d) override {
    d.parameter("count", count_, "");
    d.provides(number);
  }
  void begin(Context& /*context*/) override { next_ = 0; }
  More produce(Emitter& emitter, Context& /*context*/) override {
    for (int i = 0; i < 2 && next_ < count_; ++i) emitter.emit(packet_of(next_++));
    return next_ < count_ ? More::yes : More::no;
  }

 private:
  std::int64_t count_ = 5;
  std::int64_t next_ = 0;
};

TEST(Runner, ASourceProducesInSequence) {
  Harness harness("count", std::make_unique<Count>());
  harness.produce().finish();
  EXPECT_THAT(numbers_of(harness.outputs()), ElementsAre(0, 1, 2, 3, 4));
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(harness.outputs()[i].sequence(), i);
}

TEST(Runner, AFlowThatRunsAgainBeginsAnew) {
  Harness harness("count", std::make_unique<Count>());
  harness.produce().finish();
  EXPECT_THAT(harness.take_outputs(), SizeIs(5));
  harness.epoch(1).produce().finish();
  EXPECT_THAT(harness.outputs(), SizeIs(5));
}

/// Sums pairs; drops a number without a partner.
class Pairs final : public Collector {
 public:
  void declare(Declaration& d) override {
    d.needs(number);
    d.provides(number);
  }
  void process(Packet packet, Emitter& emitter, Context& /*context*/) override {
    if (!first_) {
      first_ = std::move(packet);
      return;
    }
    packet[number] += first_->get(number);
    first_.reset();
    emitter.emit(std::move(packet));
  }
  More end(Emitter& emitter, Context& /*context*/) override {
    if (first_) emitter.drop(*first_, "it has no partner");
    first_.reset();
    return More::no;
  }

 private:
  std::optional<Packet> first_;
};

TEST(Runner, ACollectorEmitsFewerAndAccountsForTheRest) {
  Harness harness("pairs", std::make_unique<Pairs>());
  for (std::int64_t i = 1; i <= 5; ++i) harness.push(packet_of(i));
  harness.finish();
  EXPECT_THAT(numbers_of(harness.outputs()), ElementsAre(3, 7));
  ASSERT_THAT(harness.drops(), SizeIs(1));
  EXPECT_EQ(harness.drops()[0].reason, "it has no partner");
}

struct Counted {
  virtual ~Counted() = default;
  [[nodiscard]] virtual std::int64_t total() const = 0;
};

/// Keeps a total over all flows.
class Total final : public Sink, public Counted {
 public:
  void declare(Declaration& d) override {
    d.needs(number);
    d.keeps_state();
    d.offers<Counted>(*this);
  }
  void open(Context& context) override { context.info("opened"); }
  void process(const Packet& packet, Context& context) override {
    total_ += packet.get(number);
    context.metric("seen", static_cast<double>(packet.get(number)));
  }
  void end(Context& context) override {
    context.metric("total", static_cast<double>(total_));
    context.report("Totals", "all of it");
  }
  void save(Archive& archive) const override { archive.put("total", total_); }
  void load(const Archive& archive) override { total_ = archive.integer("total"); }
  [[nodiscard]] std::int64_t total() const override { return total_; }

 private:
  std::int64_t total_ = 0;
};

TEST(Runner, NoStageIsHandedRowsThatDoNotMatch) {
  testing::RecordingServices services;
  RunState run;
  run.services = &services;
  Packet joined = batch_of(3);  // from two branches that are each valid
  joined[field::items].resize(2);
  Nowhere nowhere;
  const auto refused = [](const Outcome& outcome) {
    ASSERT_EQ(outcome.kind(), Outcome::Kind::failed);
    EXPECT_REFUSED(throw outcome.error(), Fault::configuration,
                   "the branches that join before stage 'behind' have different numbers of rows: "
                   "the fields of one batch must have the same number of rows, but 'indices' has 3 "
                   "rows and 'items' has 2 rows");
  };
  refused(StageRunner("behind", "test.stage", std::make_unique<Total>()).consume(run, joined));
  refused(StageRunner("behind", "test.stage", std::make_unique<Shortens>()).transform(run, joined));
  refused(
      StageRunner("behind", "test.stage", std::make_unique<Pairs>()).collect(run, joined, nowhere));
}

TEST(Runner, ASinkReportsWhenTheFlowEnds) {
  Harness harness("total", std::make_unique<Total>());
  harness.push(packet_of(4)).push(packet_of(5)).finish();
  EXPECT_EQ(harness.metric("total"), 9);
  EXPECT_THAT(harness.metrics().at("seen"), ElementsAre(4, 5));
  ASSERT_THAT(harness.reports(), SizeIs(1));
  EXPECT_EQ(harness.reports()[0].title, "Totals");
  ASSERT_THAT(harness.log(), SizeIs(1));
  EXPECT_EQ(harness.log()[0].text, "opened");
}

TEST(Runner, StateGoesThroughAnArchive) {
  Harness one("total", std::make_unique<Total>());
  one.push(packet_of(4)).finish();
  Harness two("total", std::make_unique<Total>());
  two.open();
  two.runner().load(one.runner().save());
  two.push(packet_of(1)).finish();
  EXPECT_EQ(two.metric("total"), 5);
}

TEST(Runner, AStateThatDoesNotFitIsAnErrorOfThatStage) {
  Harness harness("total", std::make_unique<Total>());
  harness.open();
  try {
    harness.runner().load(Archive());
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.full_message(), AllOf(HasSubstr("'total'"), HasSubstr("saved state")));
  }
}

/// Uses the stages before it and one named stage.
class Looking final : public Sink {
 public:
  void declare(Declaration& d) override {
    d.reference("counted", counted_, "").optional();
    d.upstream(before_, "");
  }
  void process(const Packet& /*packet*/, Context& context) override {
    context.metric("before", static_cast<double>(before_.size()));
    context.metric("bound", counted_ ? static_cast<double>(counted_->total()) : -1.0);
  }

 private:
  Ref<Counted> counted_;
  Refs<Counted> before_;
};

TEST(Runner, ReferencesReachOtherStages) {
  Harness total("total", std::make_unique<Total>());
  total.push(packet_of(6)).finish();
  Harness add("add", std::make_unique<Add>());
  Harness looking("looking", std::make_unique<Looking>());
  auto* counted = static_cast<Counted*>(total.runner().interface(type_name<Counted>()));
  ASSERT_NE(counted, nullptr);
  EXPECT_EQ(add.runner().interface(type_name<Counted>()), nullptr);
  looking.refer("counted", *counted).upstream({&add.runner(), &total.runner()});
  looking.push(packet_of(1)).finish();
  EXPECT_EQ(looking.metric("before"), 1);
  EXPECT_EQ(looking.metric("bound"), 6);
}

/// Emits random numbers, to test what they depend on.
class Chance final : public ParallelTransform {
 public:
  void declare(Declaration& d) override {
    d.needs(number);
    d.provides(number);
  }
  void process(Packet& packet, Context& context) const override {
    packet[number] = static_cast<std::int64_t>(context.random(packet).bits32());
  }
};

std::vector<std::int64_t> chance(const std::string& name, std::uint64_t seed, std::int64_t epoch,
                                 int threads) {
  Harness harness(name, std::make_unique<Chance>());
  std::vector<Packet> packets;
  for (std::int64_t i = 0; i < 64; ++i) packets.push_back(packet_of(i));
  harness.seed(seed).epoch(epoch).push_all(std::move(packets), threads).finish();
  return numbers_of(harness.outputs());
}

TEST(Runner, ChanceDependsOnSeedStageAndEpochButNotOnThreads) {
  const auto draws = chance("chance", 1, 0, 1);
  EXPECT_EQ(chance("chance", 1, 0, 4), draws);
  EXPECT_NE(chance("chance", 2, 0, 1), draws);
  EXPECT_NE(chance("chance", 1, 1, 1), draws);
  EXPECT_NE(chance("other", 1, 0, 1), draws);
}

}  // namespace seam::runner_test
