#include "pipeline/config/paths.hpp"

#include <sstream>

#include "tests/pipeline/config/load_fixture.hpp"
#include "tests/support/matchers.hpp"

namespace seam::host::paths_test {

class PathsOf : public Load {
 protected:
  /// "numbers a<numbers b<a", of the flow `main` with these paths.
  std::string main_of(const std::string& flow, const std::string& paths,
                      std::vector<std::string> overrides = {}) {
    std::string text = "[stage.numbers]\nuse = \"fixture.numbers\"\n";
    for (const char* name : {"a", "b", "c", "d", "e"}) {
      text += "[stage." + std::string(name) + "]\nuse = \"fixture.every_kind\"\n";
    }
    text += "[path]\n" + paths + "\n[flow]\nmain = \"" + flow + "\"\n";
    pipeline_ = loaded(text, std::move(overrides));
    std::ostringstream shape;
    if (pipeline_.spec.flows.empty()) return "none";
    const FlowSpec& spec = pipeline_.spec.flows.front();
    for (const FlowNode& node : spec.nodes) {
      shape << (shape.tellp() > 0 ? " " : "") << node.stage;
      const char* before = "<";
      for (const std::size_t input : node.inputs) {
        shape << before << spec.nodes.at(input).stage;
        before = ",";
      }
    }
    return shape.str();
  }

  CheckedPipeline pipeline_;
};

TEST_F(PathsOf, StandForTheirText) {
  EXPECT_EQ(main_of("numbers -> p -> c", "p = \"a -> b\""), main_of("numbers -> a -> b -> c", ""));
  EXPECT_EQ(main_of("numbers -> p", "p = \"a\""), main_of("numbers -> a", ""));
  EXPECT_EQ(main_of("p -> b", "p = \"numbers -> a\""), main_of("numbers -> a -> b", ""));
}

TEST_F(PathsOf, MayHaveBranches) {
  EXPECT_EQ(main_of("numbers -> p -> d", "p = \"a -> {b, c}\""), "numbers a<numbers b<a c<a d<b,c");
  EXPECT_EQ(main_of("numbers -> a -> p -> d", "p = \"{b, c}\""), "numbers a<numbers b<a c<a d<b,c");
  EXPECT_EQ(main_of("numbers -> {a, b} -> p", "p = \"{c, d} -> e\""),
            main_of("numbers -> {a, b} -> {c, d} -> e", ""));
  EXPECT_EQ(main_of("numbers -> {p, d} -> e", "p = \"a -> {b, c}\""),
            main_of("numbers -> {a -> {b, c}, d} -> e", ""));
}

TEST_F(PathsOf, MayHavePathsInAnyOrder) {
  EXPECT_EQ(main_of("numbers -> outer -> d", "outer = \"a -> inner\"\ninner = \"{b, c}\""),
            "numbers a<numbers b<a c<a d<b,c");
  EXPECT_THAT(pipeline_.spec.flows.front().nodes.at(2).paths, ElementsAre("outer", "inner"));
}

TEST_F(PathsOf, CanBeSet) {
  EXPECT_EQ(main_of("numbers -> p -> c", "p = \"a -> b\"", {"path.p=b -> a"}),
            "numbers b<numbers a<b c<a");
  EXPECT_EQ(main_of("numbers -> p -> c", "", {"path.p=b -> a"}), "numbers b<numbers a<b c<a");
}

TEST_F(PathsOf, CanBeReplacedByAFileThatExtends) {
  folder_.write("base.toml", std::string(simple) + "more = \"numbers -> middle -> total\"\n" +
                                 "[path]\nmiddle = \"scale\"\nspare = \"scale\"\n");
  const CheckedPipeline pipeline = loaded(R"(extends = "base.toml"
[stage.label]
use = "fixture.label"
[path]
middle = "scale -> label"
)");
  EXPECT_THAT(pipeline.spec.flows.at(1).nodes, SizeIs(4));
}

TEST_F(PathsOf, StayInTheResolvedText) {
  main_of("numbers -> p -> c", "q = \"b\"\np = \"a -> q\"");
  EXPECT_THAT(pipeline_.spec.resolved, HasSubstr("[path]\nq = \"b\"\np = \"a -> q\"\n\n[flow]\n"));
  const CheckedPipeline again = loaded(pipeline_.spec.resolved);
  EXPECT_EQ(again.spec.resolved, pipeline_.spec.resolved);
  EXPECT_THAT(again.spec.flows.front().nodes, SizeIs(4));
  main_of("numbers -> a", "");
  EXPECT_THAT(pipeline_.spec.resolved, Not(HasSubstr("[path]")));
}

TEST_F(PathsOf, DeepNestingIsRefusedNotFollowed) {
  std::string text = simple;
  text += "deep = \"numbers -> p0\"\n[path]\n";
  for (int i = 0; i < 10'000; ++i) {
    text += "p" + std::to_string(i) + " = \"p" + std::to_string(i + 1) + "\"\n";
  }
  const LoadResult result = load(text + "p10000 = \"scale\"\n");
  EXPECT_FALSE(result.pipeline);
  EXPECT_THAT(codes(result), Not(IsEmpty()));
}

}  // namespace seam::host::paths_test
