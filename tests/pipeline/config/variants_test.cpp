#include "pipeline/config/variants.hpp"

#include "pipeline/config/axis.hpp"
#include "pipeline/config/parameters.hpp"
#include "pipeline/config/sweep.hpp"
#include "tests/pipeline/config/load_fixture.hpp"
#include "tests/support/matchers.hpp"

namespace seam::host::variants_test {

using ::testing::Pair;

const std::string offered = std::string(simple) + R"(
[variant.triple.stage.scale]
factor = 3
[variant.kinds.stage.scale]
use = "fixture.every_kind"
count = 9
[variant.long]
schedule.epochs = 8
stage.numbers.count = 50
flow.second = "numbers -> total"
[variants]
scale = ["triple", "kinds"]
)";

class VariantsTest : public Load {
 protected:
  LoadResult choose(const std::vector<std::string>& variants, std::vector<std::string> set = {},
                    const std::string& text = offered) {
    return load(text, std::move(set), variants);
  }
  PipelineSpec spec(const std::vector<std::string>& variants, std::vector<std::string> set = {}) {
    LoadResult result = choose(variants, std::move(set));
    EXPECT_THAT(codes(result), IsEmpty());
    return result.pipeline ? std::move(result.pipeline->spec) : PipelineSpec{};
  }
  Parameters parameters(const std::vector<std::string>& variants,
                        std::vector<std::string> set = {}) {
    return parameters_of(spec(variants, std::move(set)).resolved, "resolved.toml");
  }
};

TEST_F(VariantsTest, ReplaceStagesValuesFlowsAndSchedule) {
  const PipelineSpec base = spec({});
  EXPECT_EQ(base.flows.size(), 1U);
  EXPECT_EQ(base.schedule.epochs, 1);
  const PipelineSpec both = spec({"long", "kinds"});
  EXPECT_EQ(both.flows.size(), 2U);
  EXPECT_EQ(both.schedule.epochs, 8);
  EXPECT_EQ(both.stages.at(0).values.at("count"), Value{std::int64_t{50}});
  EXPECT_EQ(both.stages.at(1).use, "fixture.every_kind");
  EXPECT_EQ(both.stages.at(1).values.at("count"), Value{std::int64_t{9}});
}

TEST_F(VariantsTest, SetComesAfterThem) {
  EXPECT_EQ(spec({"triple"}, {"stage.scale.factor=1"}).stages.at(1).values.at("factor"),
            Value{1.0});
}

TEST_F(VariantsTest, OfAnExtendedFileMayBeChosen) {
  folder_.write("base.toml", offered);
  const LoadResult result =
      choose({"triple"}, {}, "extends = \"base.toml\"\n[stage.scale]\nfactor = 2\n");
  ASSERT_TRUE(result.pipeline);
  EXPECT_EQ(stage(*result.pipeline, "scale").values.at("factor"), Value{3.0});
}

TEST_F(VariantsTest, UnknownOnesAndTwoOfAGroupAreErrors) {
  const LoadResult unknown = choose({"tripel"});
  ASSERT_EQ(unknown.problems.size(), 1U);
  EXPECT_THAT(to_text(unknown.problems[0]),
              ::testing::AllOf(HasSubstr("--variant:1:1: error: there is no variant 'tripel'"),
                               HasSubstr("did you mean 'triple'?"),
                               HasSubstr("variants of this file: triple, kinds, long")));
  const LoadResult two = choose({"triple", "kinds"});
  ASSERT_EQ(two.problems.size(), 1U);
  EXPECT_EQ(two.problems[0].message,
            "'triple' and 'kinds' both belong to the group 'scale'; choose one");
  EXPECT_EQ(choose({"long", "long"}).problems.at(0).message, "the variant 'long' is chosen twice");
  EXPECT_THAT(to_text(choose({"long"}, {}, simple).problems.at(0)),
              HasSubstr("the file has no variants"));
}

TEST_F(VariantsTest, FindingsNameTheirPlace) {
  const LoadResult result =
      choose({"wrong"}, {}, std::string(simple) + "[variant.wrong.stage.scale]\nfactr = 3\n");
  ASSERT_EQ(result.problems.size(), 1U);
  EXPECT_EQ(result.problems[0].place.line, 14U);
  EXPECT_EQ(result.problems[0].source_line, "factr = 3");
}

TEST_F(VariantsTest, ThePipelineRecordsThem) {
  const PipelineSpec chosen = spec({"kinds", "long"}, {"stage.scale.count=11"});
  EXPECT_THAT(chosen.chosen.variants, ElementsAre("scale=kinds", "long"));
  EXPECT_THAT(chosen.chosen.decides, UnorderedElementsAre("stage.scale", "stage.numbers.count",
                                                          "flow.second", "schedule.epochs"));
  EXPECT_THAT(chosen.chosen.set, ElementsAre("stage.scale.count"));
  const LoadResult again = choose({}, {"pipeline.seed=4"}, chosen.resolved);
  ASSERT_TRUE(again.pipeline);
  EXPECT_EQ(again.pipeline->spec.chosen.variants, chosen.chosen.variants);
  EXPECT_EQ(again.pipeline->spec.chosen.decides, chosen.chosen.decides);
  EXPECT_THAT(again.pipeline->spec.chosen.set, ElementsAre("stage.scale.count", "pipeline.seed"));
  EXPECT_THAT(loaded(simple).spec.resolved, Not(HasSubstr("[chosen]")));
}

TEST_F(VariantsTest, DecideKeysInWhichPipelinesDiffer) {
  const Parameters base = parameters({});
  const Parameters triple = parameters({"triple"});
  const Parameters kinds = parameters({"kinds"}, {"stage.numbers.count=6"});
  EXPECT_THAT(triple, Contains(Pair("variant.scale", "triple")));
  EXPECT_THAT(parameters({"long"}), Contains(Pair("variant", "long")));
  const auto decided = decided_by_variants({&base, &triple, &kinds});
  EXPECT_THAT(decided, Contains("stage.scale.factor"));
  EXPECT_THAT(decided, Contains("stage.scale.use"));
  EXPECT_THAT(decided, Not(Contains("stage.numbers.count"))) << "--set changed it";
  const Parameters set = parameters({"triple"}, {"stage.scale.factor=2"});
  EXPECT_THAT(decided_by_variants({&triple, &kinds, &set}), Not(Contains("stage.scale.factor")));
  const Parameters elsewhere = parameters({}, {"stage.scale.factor=2"});
  EXPECT_THAT(decided_by_variants({&elsewhere, &kinds}), Not(Contains("stage.scale.factor")))
      << "not what the variant replaced, but what --set says";
  EXPECT_THAT(decided_by_variants({&base}), IsEmpty());
}

TEST_F(VariantsTest, ChoicesCrossGroups) {
  const VariantNames names{{"a", "b", "c", "x", "y", "alone"},
                           {{"l", {"a", "b", "c"}}, {"m", {"x", "y"}}}};
  const auto choices = choices_of(names);
  ASSERT_EQ(choices.size(), 7U);
  EXPECT_THAT(choices[0], ElementsAre("a", "x"));
  EXPECT_THAT(choices[5], ElementsAre("c", "y"));
  EXPECT_THAT(choices[6], ElementsAre("alone"));
  VariantNames many;
  for (int group = 0; group < 7; ++group) {
    const std::string name = "g" + std::to_string(group);
    many.groups.push_back({name, {name + "a", name + "b"}});
    many.variants.insert(many.variants.end(), {name + "a", name + "b"});
  }
  EXPECT_EQ(choices_of(many).size(), 14U) << "128 combinations are too many: each alone";
}

TEST_F(VariantsTest, AreAxes) {
  const VariantNames names{{"a", "b", "x", "y"}, {{"l", {"a", "b"}}, {"m", {"x", "y"}}}};
  const auto axes = parse_axes({"variants", "pipeline.seed=1..2"}, names);
  ASSERT_EQ(axes.size(), 3U);
  EXPECT_THAT(axes[0].keys, ElementsAre("variant.l"));
  EXPECT_THAT(axes[1].values, ElementsAre("x", "y"));
  EXPECT_THAT(parse_axes({"variant.m"}, names)[0].values, ElementsAre("x", "y"));
  EXPECT_THAT(parse_axes({"variant=a,y"}, names)[0].values, ElementsAre("a", "y"));
  const auto parsed = [&](const std::string& text) { (void)parse_axes({text}, names); };
  EXPECT_REFUSED(parsed("variant.l=x"), Fault::configuration,
                 "no variant 'x' in variant.l; accepted: a, b");
  EXPECT_REFUSED(parsed("variant.n=x"), Fault::configuration, "has no group 'n'; it has: l, m");
  EXPECT_REFUSED(parsed("variant=z"), Fault::configuration, "there is no variant 'z'");
  EXPECT_REFUSED(parsed("variant"), Fault::configuration, "KEY=VALUES");
  EXPECT_REFUSED(parsed("variant.l,variant.m=a"), Fault::configuration, "a separate axis");
  EXPECT_REFUSED((void)parse_axes({"variants"}), Fault::configuration, "no groups of variants");
}

}  // namespace seam::host::variants_test
