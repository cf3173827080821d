#include "pipeline/experiments/comparison_text.hpp"

#include <limits>
#include <string>

#include "tests/support/matchers.hpp"

namespace seam::host::comparison_paper_test {

Group group(const std::string& value, std::size_t runs, double mean, std::optional<double> error) {
  Group group;
  group.parameters = {{"stage.loss.a_form", value}};
  group.members.resize(runs);
  group.mean = mean;
  group.standard_error = error;
  return group;
}

Comparison comparison() {
  Comparison comparison;
  comparison.metric = "recall.none.r@1";
  Ranking& ranking = comparison.rankings.emplace_back();
  ranking.groups = {group("50 %", 3, 0.63124, 0.0069), group("a|b", 3, 0.6101, 0.0057),
                    group("[4, 6]", 1, 0.5, std::nullopt)};
  ranking.groups[1].difference = {3, 0, -0.0211, Bounds{-0.0467, 0.0045}};
  ranking.groups[2].difference = {0, 0, 0, std::nullopt};
  return comparison;
}

TEST(ComparisonPaper, IsAMarkdownTable) {
  EXPECT_EQ(to_markdown(comparison()),
            "| a_form | runs | recall.none.r@1 | to the best |\n"
            "|---|---:|---:|---|\n"
            "| 50 % | 3 | 0.6312 ± 0.0069 |  |\n"
            "| a\\|b | 3 | 0.6101 ± 0.0057 | -0.0211 [-0.0467, +0.0045] |\n"
            "| [4, 6] | 1 | 0.5000 | unpaired |\n");
}

TEST(ComparisonPaper, IsALatexTable) {
  EXPECT_EQ(to_latex(comparison()),
            "\\begin{tabular}{lrrl}\n"
            "\\toprule\n"
            "a\\_form & runs & recall.none.r@1 & to the best \\\\\n"
            "\\midrule\n"
            "50 \\% & 3 & $0.6312 \\pm 0.0069$ &  \\\\\n"
            "a|b & 3 & $0.6101 \\pm 0.0057$ & $-0.0211$ $[-0.0467, +0.0045]$ \\\\\n"
            "{}[4, 6] & 1 & $0.5000$ & unpaired \\\\\n"
            "\\bottomrule\n"
            "\\end{tabular}\n");
}

TEST(ComparisonPaper, FewerPairsThanRunsAreNamed) {
  Comparison one = comparison();
  std::vector<Group>& groups = one.rankings[0].groups;
  groups[1].difference->pairs = 2;
  groups[2].difference = {1, 0, -0.2, std::nullopt};
  EXPECT_THAT(to_markdown(one), HasSubstr("| -0.0211 [-0.0467, +0.0045] of 2 pairs |"));
  EXPECT_THAT(to_markdown(one), HasSubstr("| -0.2000 of 1 pair |"));
  EXPECT_THAT(to_latex(one), HasSubstr("& $-0.2000$ of 1 pair \\\\"));
  groups[1].difference->clusters = 5;
  EXPECT_THAT(to_markdown(one), HasSubstr("| -0.0211 [-0.0467, +0.0045] |"));
}

TEST(ComparisonPaper, FurtherMetricsAreColumns) {
  Comparison two = comparison();
  two.further = {"recall.none.r@20"};
  for (Group& group : two.rankings[0].groups) group.further = {{0.81249, 0.02, 0.0103}};
  EXPECT_THAT(to_markdown(two),
              HasSubstr("| a_form | runs | recall.none.r@1 | recall.none.r@20 | to the best |\n"
                        "|---|---:|---:|---:|---|\n"
                        "| 50 % | 3 | 0.6312 ± 0.0069 | 0.812 ± 0.010 |  |\n"));
  EXPECT_THAT(to_latex(two), HasSubstr("\\begin{tabular}{lrrrl}\n"));
}

TEST(ComparisonPaper, SaysWhatIsNoNumberAndKeepsRankingsApart) {
  Comparison two = comparison();
  two.rankings.push_back(two.rankings.front());
  two.rankings[1].groups = {group("x", 1, std::numeric_limits<double>::quiet_NaN(), std::nullopt)};
  two.rankings[0].data = {{"protocol", "a"}};
  two.rankings[1].data = {{"protocol", "b"}};
  two.unranked = {{"third", "stopped\nat the end"}};
  two.biased = {"first"};
  EXPECT_THAT(to_markdown(two),
              HasSubstr("unpaired |\n\nmeasured on protocol: b\n\n| a_form | runs"));
  EXPECT_THAT(to_markdown(two), HasSubstr("\n\nnot ranked: third: stopped\n"));
  EXPECT_THAT(to_latex(two),
              HasSubstr("\n% biased upwards, weights selected on this data: first\n"));
  EXPECT_THAT(to_markdown(two), HasSubstr("| x | 1 | not finite |  |"));
  EXPECT_THAT(to_markdown(two), Not(HasSubstr("best epoch")));
  two.which = WhichEpoch::best;
  EXPECT_THAT(to_markdown(two), HasSubstr("|\n\nthe best epoch was selected on the evaluation data "
                                          "itself, so these values are biased upwards\n"));
  EXPECT_THAT(to_latex(two), HasSubstr("\n\n% the best epoch was selected on the evaluation data"));
}

}  // namespace seam::host::comparison_paper_test
