#include "pipeline/config/problem.hpp"

#include "tests/support/matchers.hpp"

namespace seam::host::problem_test {

Problem example() {
  Problem problem;
  problem.code = "unknown-parameter";
  problem.message = "'clases' is not a parameter of model.sccapsnet";
  problem.place = {"a.toml", 7, 1, 6};
  problem.source_line = "clases = 23";
  problem.notes = {"did you mean 'classes'?"};
  return problem;
}

TEST(ProblemText, LooksLikeACompilers) {
  EXPECT_EQ(to_text(example()),
            "a.toml:7:1: error: 'clases' is not a parameter of model.sccapsnet "
            "[unknown-parameter]\n"
            "  7 | clases = 23\n"
            "    | ^~~~~~\n"
            "  did you mean 'classes'?\n");
}

TEST(ProblemText, CaretCountsCharacters) {
  Problem problem = example();
  problem.place = {"a.toml", 12, 11, 3};
  problem.source_line = "größe\t= \"äöü\"";
  EXPECT_THAT(to_text(problem), HasSubstr("  12 | größe = \"äöü\"\n"
                                          "     |           ^~~\n"));
}

TEST(ProblemText, WholeFile) {
  Problem problem = example();
  problem.place = {"a.toml", 0, 0, 1};
  problem.notes.clear();
  EXPECT_EQ(to_text(problem),
            "a.toml: error: 'clases' is not a parameter of model.sccapsnet [unknown-parameter]\n");
}

TEST(ProblemText, LongLinesAreCutAroundTheMark) {
  Problem problem = example();
  problem.source_line = std::string(5000, 'a') + "HERE" + std::string(5000, 'b');
  problem.place = {"a.toml", 7, 5001, 4};
  const std::string text = to_text(problem);
  EXPECT_LT(text.size(), 700U);
  const std::size_t here = text.find("HERE");
  const std::size_t caret = text.find("^~~~");
  ASSERT_NE(here, std::string::npos);
  ASSERT_NE(caret, std::string::npos);
  const auto column = [&](std::size_t at) { return at - text.rfind('\n', at); };
  EXPECT_EQ(column(here), column(caret));
}

TEST(ProblemText, TerminalsAreNotSteered) {
  Problem problem = example();
  problem.source_line = "a = \x1b[2J\xff";
  problem.message = "'\x1b[2J' is not a key";
  const std::string text = to_text(problem);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\xff'), std::string::npos);
}

TEST(ProblemText, MarkBeyondTheLineStaysAtItsEnd) {
  Problem problem = example();
  problem.place = {"a.toml", 7, 400, 100};
  EXPECT_THAT(to_text(problem), HasSubstr("    |            ^\n"));
}

TEST(ProblemJson, HoldsEveryMember) {
  Problem problem = example();
  problem.severity = Severity::warning;
  problem.message = "a \"quoted\" \\ text\n\x01 \xff";
  problem.notes = {"one", "two"};
  EXPECT_EQ(to_json({problem}),
            "[\n {\"severity\":\"warning\",\"code\":\"unknown-parameter\","
            "\"message\":\"a \\\"quoted\\\" \\\\ text\\n\\u0001 \xef\xbf\xbd\","
            "\"place\":{\"file\":\"a.toml\",\"line\":7,\"column\":1,\"length\":6},"
            "\"source_line\":\"clases = 23\",\"notes\":[\"one\",\"two\"]}\n]\n");
}

TEST(ProblemJson, Lists) {
  EXPECT_EQ(to_json({}), "[]\n");
  EXPECT_THAT(to_json({example(), example()}), HasSubstr("},\n {"));
}

}  // namespace seam::host::problem_test
