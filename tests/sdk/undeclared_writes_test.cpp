#include <cstdint>
#include <functional>
#include <memory>
#include <seam/runner.hpp>
#include <seam/testing.hpp>
#include <string>
#include <utility>

#include "tests/support/matchers.hpp"

namespace seam::undeclared_writes_test {

using testing::Harness;

constexpr Field<std::int64_t> number{"number"};
constexpr Field<std::int64_t> doubled{"doubled"};

/// Declares that it reads `number` and provides `doubled`, and calls a function of the test.
class Doing final : public Transform {
 public:
  using Deed = std::function<void(Packet&)>;
  explicit Doing(Deed deed) : deed_(std::move(deed)) {}
  void declare(Declaration& d) override {
    d.needs(number);
    d.needs(field::item);
    d.accepts(field::category);
    d.provides(doubled);
  }
  void process(Packet& packet, Context& /*context*/) override {
    packet.set(doubled, 2);
    deed_(packet);
  }

 private:
  Deed deed_;
};

Packet numbered() {
  Packet packet(Origin{nullptr, 0, "one"});
  packet.set(number, 1);
  packet.set(field::item, "shirt");
  packet.set(field::category, 3);
  return packet;
}

/// Returns the error for this deed, or an empty string.
std::string refusal(Doing::Deed deed) {
  Harness harness("doing", std::make_unique<Doing>(std::move(deed)));
  harness.push(numbered());
  return harness.errors().empty() ? std::string() : harness.errors().front().full_message();
}

TEST(UndeclaredWrites, AreRefused) {
  EXPECT_THAT(
      refusal([](Packet& packet) { packet.set(field::item, "trousers"); }),
      AllOf(HasSubstr("stage 'doing' breaks its declaration: it changes field 'item', but does "
                      "not declare it with d.provides(...)"),
            HasSubstr("working on one")));
  EXPECT_THAT(refusal([](Packet& packet) { packet[field::item] += "s"; }),
              HasSubstr("it changes field 'item'"))
      << "a value that no other packet shares";
  EXPECT_THAT(refusal([](Packet& packet) { packet.set(field::index, 3); }),
              HasSubstr("it adds field 'index'"));
  Harness without("doing",
                  std::make_unique<Doing>([](Packet& packet) { packet.set(field::category, 4); }));
  Packet packet = numbered();
  packet.erase(field::category);
  without.push(packet);
  ASSERT_THAT(without.errors(), SizeIs(1)) << "an accepted field that was not there";
  EXPECT_THAT(without.errors().front().what(), HasSubstr("it adds field 'category'"));
}

TEST(UndeclaredWrites, WhatAStageMayDoIsNotOne) {
  EXPECT_EQ(refusal([](Packet& /*packet*/) {}), "");
  EXPECT_EQ(refusal([](Packet& packet) { packet[doubled] = 4; }), "");
  EXPECT_EQ(refusal([](Packet& packet) { packet.erase(field::item); }), "");
  EXPECT_EQ(refusal([](Packet& packet) { packet.set(field::category, 4); }), "")
      << "a field that it accepts";
  EXPECT_EQ(refusal([](Packet& packet) { packet.set(field::item, "shirt"); }), "")
      << "the same value";
  EXPECT_EQ(refusal([](Packet& packet) { (void)packet[field::item].size(); }), "")
      << "read through a packet that is not const";
}

TEST(UndeclaredWrites, AreLookedForInTheFirstPacketsOfAFlow) {
  Harness harness("doing", std::make_unique<Doing>([](Packet& packet) { ++packet[number]; }));
  EXPECT_FALSE(harness.runner().broke_declaration());
  for (int i = 0; i < 40; ++i) harness.push(numbered());
  EXPECT_THAT(harness.errors(), SizeIs(8));
  EXPECT_TRUE(harness.runner().broke_declaration());
}

TEST(UndeclaredWrites, TheSequenceNumberIsTheHosts) {
  Harness harness("doing", std::make_unique<Doing>([](Packet& packet) { packet.set_sequence(9); }));
  harness.push(numbered());
  ASSERT_THAT(harness.outputs(), SizeIs(1));
  EXPECT_EQ(harness.outputs().front().sequence(), 0U);
}

class Making final : public Source {
 public:
  void declare(Declaration& d) override { d.provides(number); }
  More produce(Emitter& emitter, Context& /*context*/) override {
    emitter.emit(numbered());
    return More::no;
  }
};

TEST(UndeclaredWrites, ASourceDeclaresWhatItsPacketsHave) {
  Harness harness("making", std::make_unique<Making>());
  harness.produce();
  EXPECT_THAT(only_error(harness).what(), HasSubstr("it adds field 'item'"));
}

}  // namespace seam::undeclared_writes_test
