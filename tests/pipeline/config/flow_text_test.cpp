#include "pipeline/config/flow_text.hpp"

#include <sstream>
#include <utility>

#include "tests/support/matchers.hpp"

namespace seam::host::flow_text_test {

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

TEST(ParseFlow, ReadsChainsAndBranches) {
  for (const auto& [text, shape] : {
           std::pair("items", "items"),
           {"items -> decode -> batch", "items decode<items batch<decode"},
           {"a->b->c", "a b<a c<b"},
           {"  a\n\t-> b\r\n ", "a b<a"},
           {"my-items->my-sink", "my-items my-sink<my-items"},
           {"a- -> _b2", "a- _b2<a-"},
           {"a -> {b, c} -> d", "a b<a c<a d<b,c"},
           {"a -> {b -> x, c} -> d", "a b<a x<b c<a d<x,c"},
           {"a -> {b, c}", "a b<a c<a"},
           {"a -> {b}", "a b<a"},
           {"a -> {b -> {c, d} -> e, f} -> g", "a b<a c<b d<b e<c,d f<a g<e,f"},
           {"a -> {b, c} -> {d, e}", "a b<a c<a d<b,c e<b,c"},
       }) {
    EXPECT_EQ(shape_of(text), shape);
  }
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
  struct Case {
    const char* text;
    const char* code;
    std::size_t offset;
  };
  for (const auto& [text, code, offset] : {Case{"", "empty-flow", 0},
                                           {"  \n ", "empty-flow", 0},
                                           {"a -> ", "flow-syntax", 4},
                                           {"a b", "flow-syntax", 2},
                                           {"a => b", "flow-syntax", 2},
                                           {"a -> , b", "flow-syntax", 5},
                                           {"a -> {b, c", "flow-syntax", 5},
                                           {"a -> {b c}", "flow-syntax", 8},
                                           {"a -> b}", "flow-syntax", 6},
                                           {"a -> {b,}", "flow-syntax", 8},
                                           {"2nd -> b", "flow-syntax", 0},
                                           {"{a, b} -> c", "flow-head", 0},
                                           {"a -> b -> a", "stage-twice", 10}}) {
    EXPECT_EQ(fault_of(text).code, code) << text;
    EXPECT_EQ(fault_of(text).offset, offset) << text;
  }
  EXPECT_THAT(fault_of("a -> {b, c").message, HasSubstr("never closed"));
  EXPECT_THAT(fault_of("a → b").message, HasSubstr("'→'")) << "a whole character";
}

TEST(ParseFlow, DeepNestingIsRefusedNotFollowed) {
  std::string text = "a -> ";
  text.append(100'000, '{');
  EXPECT_THAT(fault_of(text).message, HasSubstr("nested"));
}

TEST(IsFlowName, LettersFirst) {
  for (const char* name : {"a", "_a-1"}) EXPECT_TRUE(is_flow_name(name)) << name;
  for (const char* name : {"", "1a", "a.b", "-a"}) EXPECT_FALSE(is_flow_name(name)) << name;
}

}  // namespace seam::host::flow_text_test
