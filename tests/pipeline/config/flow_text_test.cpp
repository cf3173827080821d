#include "pipeline/config/flow_text.hpp"

#include <gmock/gmock.h>

#include <sstream>

namespace seam::host::flow_text_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// "items decode<items batch<decode,crop"
std::string shape_of(std::string_view text) {
  const FlowText flow = parse_flow(text);
  EXPECT_THAT(flow.faults, IsEmpty()) << text;
  std::ostringstream shape;
  for (const FlowStep& step : flow.steps) {
    shape << (shape.tellp() > 0 ? " " : "") << step.stage;
    const char* before = "<";
    for (const std::size_t input : step.inputs) {
      shape << before << flow.steps[input].stage;
      before = ",";
    }
  }
  return shape.str();
}

TextFault fault_of(std::string_view text) {
  const FlowText flow = parse_flow(text);
  EXPECT_THAT(flow.faults, SizeIs(1)) << text;
  return flow.faults.empty() ? TextFault{} : flow.faults.front();
}

TEST(ParseFlow, Chains) {
  EXPECT_EQ(shape_of("items"), "items");
  EXPECT_EQ(shape_of("items -> decode -> batch"), "items decode<items batch<decode");
  EXPECT_EQ(shape_of("a->b->c"), "a b<a c<b");
  EXPECT_EQ(shape_of("  a\n\t-> b\r\n "), "a b<a");
}

TEST(ParseFlow, NamesMayHoldMinusSigns) {
  EXPECT_EQ(shape_of("my-items->my-sink"), "my-items my-sink<my-items");
  EXPECT_EQ(shape_of("a- -> _b2"), "a- _b2<a-");
}

TEST(ParseFlow, BranchesJoin) {
  EXPECT_EQ(shape_of("a -> {b, c} -> d"), "a b<a c<a d<b,c");
  EXPECT_EQ(shape_of("a -> {b -> x, c} -> d"), "a b<a x<b c<a d<x,c");
  EXPECT_EQ(shape_of("a -> {b, c}"), "a b<a c<a");
  EXPECT_EQ(shape_of("a -> {b}"), "a b<a");
}

TEST(ParseFlow, BranchesNestAndFollowEachOther) {
  EXPECT_EQ(shape_of("a -> {b -> {c, d} -> e, f} -> g"), "a b<a c<b d<b e<c,d f<a g<e,f");
  EXPECT_EQ(shape_of("a -> {b, c} -> {d, e}"), "a b<a c<a d<b,c e<b,c");
}

TEST(ParseFlow, StepsKnowTheirPlace) {
  const FlowText flow = parse_flow("items -> {b, longer}");
  ASSERT_THAT(flow.steps, SizeIs(3));
  EXPECT_EQ(flow.steps[1].offset, 10U);
  EXPECT_EQ(flow.steps[2].offset, 13U);
}

TEST(ParseFlow, PathsMayBeginWithBranches) {
  const FlowText path = parse_flow("{a, {b, c} -> d} -> {e, f}", TextKind::path);
  EXPECT_THAT(path.faults, IsEmpty());
  ASSERT_THAT(path.steps, SizeIs(6));
  for (const std::size_t head : {0, 1, 2}) EXPECT_THAT(path.steps[head].inputs, IsEmpty());
  EXPECT_THAT(path.steps[3].inputs, ElementsAre(1, 2));
  EXPECT_THAT(path.steps[5].inputs, ElementsAre(0, 3));
  EXPECT_THAT(path.ends, ElementsAre(4, 5));
  EXPECT_THAT(parse_flow("a -> b").ends, ElementsAre(1));
}

TEST(ParseFlow, FaultsPoint) {
  EXPECT_EQ(fault_of("").code, "empty-flow");
  EXPECT_EQ(fault_of("  \n ").code, "empty-flow");
  EXPECT_EQ(fault_of("a -> ").code, "flow-syntax");
  EXPECT_EQ(fault_of("a b").offset, 2U);
  EXPECT_EQ(fault_of("a => b").offset, 2U);
  EXPECT_EQ(fault_of("a -> , b").offset, 5U);
  EXPECT_EQ(fault_of("a -> {b, c").offset, 5U);
  EXPECT_THAT(fault_of("a -> {b, c").message, HasSubstr("never closed"));
  EXPECT_EQ(fault_of("a -> {b c}").offset, 8U);
  EXPECT_EQ(fault_of("a -> b}").offset, 6U);
  EXPECT_EQ(fault_of("a -> {b,}").offset, 8U);
  EXPECT_EQ(fault_of("2nd -> b").offset, 0U);
  EXPECT_EQ(fault_of("{a, b} -> c").code, "flow-head");
  EXPECT_EQ(fault_of("a -> b -> a").code, "stage-twice");
  EXPECT_EQ(fault_of("a -> b -> a").offset, 10U);
}

TEST(ParseFlow, WholeCharactersAreQuoted) {
  EXPECT_THAT(fault_of("a → b").message, HasSubstr("'→'"));
}

TEST(ParseFlow, DeepNestingIsRefusedNotFollowed) {
  std::string text = "a -> ";
  text.append(100'000, '{');
  EXPECT_THAT(fault_of(text).message, HasSubstr("nested"));
}

TEST(IsFlowName, LettersFirst) {
  EXPECT_TRUE(is_flow_name("a"));
  EXPECT_TRUE(is_flow_name("_a-1"));
  EXPECT_FALSE(is_flow_name(""));
  EXPECT_FALSE(is_flow_name("1a"));
  EXPECT_FALSE(is_flow_name("a.b"));
  EXPECT_FALSE(is_flow_name("-a"));
}

}  // namespace seam::host::flow_text_test
