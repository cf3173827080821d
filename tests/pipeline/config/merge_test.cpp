#include "pipeline/config/merge.hpp"

#include "tests/pipeline/config/load_fixture.hpp"
#include "tests/support/matchers.hpp"

namespace seam::host::merge_test {

class Merge : public Load {
 protected:
  Merge() {
    folder_.write("base.toml", R"([stage.numbers]
use = "fixture.numbers"
[stage.scale]
use = "fixture.scale"
factor = 3
mode = "cubic"
on_error = "skip"
concurrency = 2
[stage.again]
like = "scale"
factor = 4
[flow]
main = "numbers -> scale -> again"
)");
  }
};

TEST_F(Merge, ParametersOfAnotherUseAreReplaced) {
  const CheckedPipeline pipeline = loaded(R"(extends = "base.toml"
[stage.again]
use = "fixture.every_kind"
count = 7
[stage.scale]
factor = 2
)");
  const StageSpec& again = stage(pipeline, "again");
  EXPECT_EQ(again.use, "fixture.every_kind");
  EXPECT_EQ(again.like, "");
  EXPECT_THAT(again.values, ElementsAre(std::pair("count", Value{std::int64_t{7}})));
  EXPECT_EQ(again.on_error, OnError::fail);  // from the former `like`
  EXPECT_EQ(stage(pipeline, "scale").values.at("mode"), Value{std::string("cubic")});
}

TEST_F(Merge, ParametersStayWithTheSameUse) {
  environment_["SCALE"] = "fixture.scale";
  for (const std::string use : {"use = \"fixture.scale\"", "use = \"${SCALE}\""}) {
    const CheckedPipeline pipeline =
        loaded("extends = \"base.toml\"\n[stage.scale]\n" + use + "\n[stage.again]\n" + use + "\n");
    EXPECT_EQ(stage(pipeline, "scale").values.at("factor"), Value{3.0});
    EXPECT_EQ(stage(pipeline, "again").values.at("factor"), Value{4.0});
    EXPECT_EQ(stage(pipeline, "again").values.at("mode"), Value{std::string("cubic")});
    EXPECT_EQ(stage(pipeline, "again").like, "scale");
  }
}

TEST_F(Merge, OnErrorStaysWithAnotherUse) {
  const CheckedPipeline pipeline = loaded(
      "extends = \"base.toml\"\n[stage.scale]\nuse = \"fixture.label\"\n[flow]\nmain = "
      "\"numbers -> scale\"\n[stage.again]\nuse = \"fixture.scale\"\n");
  EXPECT_EQ(stage(pipeline, "scale").on_error, OnError::skip);
  EXPECT_EQ(stage(pipeline, "scale").concurrency, std::nullopt);
  EXPECT_THAT(stage(pipeline, "scale").values, IsEmpty());
}

TEST_F(Merge, LikeAStageOfAnotherUseReplacesAsWell) {
  const CheckedPipeline pipeline = loaded(R"(extends = "base.toml"
[stage.kinds]
use = "fixture.every_kind"
count = 9
[stage.scale]
like = "kinds"
[stage.again]
use = "fixture.scale"
)");
  const StageSpec& scale = stage(pipeline, "scale");
  EXPECT_EQ(scale.use, "fixture.every_kind");
  EXPECT_THAT(scale.values, ElementsAre(std::pair("count", Value{std::int64_t{9}})));
  EXPECT_EQ(scale.on_error, OnError::skip);
  // It was a fixture.scale before and still is, so its own keys are kept.
  EXPECT_EQ(stage(pipeline, "again").values.at("factor"), Value{4.0});
}

TEST_F(Merge, SetOptionsAreLaidOverTogether) {
  const std::string file = "extends = \"base.toml\"\n";
  const std::vector<std::string> use{"stage.scale.use=fixture.every_kind"};
  for (const bool use_first : {true, false}) {
    std::vector<std::string> options{"stage.scale.ratio=0.5", "stage.again.use=fixture.scale"};
    options.insert(use_first ? options.begin() : options.end(), use.begin(), use.end());
    const CheckedPipeline pipeline = loaded(file, options);
    EXPECT_THAT(stage(pipeline, "scale").values, ElementsAre(std::pair("ratio", Value{0.5})));
  }
}

TEST_F(Merge, OnlyWhatTheFileItselfSaysCanBeUnused) {
  const std::string flow = "[flow]\nmain = \"numbers\"\n";
  EXPECT_THAT(codes(load("extends = \"base.toml\"\n" + flow)), IsEmpty());
  EXPECT_THAT(codes(load("extends = \"base.toml\"\n" + flow, {"stage.again.factor=2"})),
              ElementsAre("stage-unused"));
  const LoadResult result = load("extends = \"base.toml\"\n[stage.again]\nfactor = 2\n" + flow);
  ASSERT_THAT(codes(result), ElementsAre("stage-unused"));
  EXPECT_EQ(result.problems[0].place.line, 3U);
}

TEST_F(Merge, OnlyFlowsOfTheFileItselfCanBeUnscheduled) {
  const std::string flows = "[flow]\nother = \"numbers -> scale -> again\"\n";
  const std::string only_other = flows + "[schedule]\neach_epoch = [\"other\"]\n";
  EXPECT_THAT(codes(load("extends = \"base.toml\"\n" + only_other)), IsEmpty());
  const std::string only_main = flows + "[schedule]\neach_epoch = [\"main\"]\n";
  const LoadResult result = load("extends = \"base.toml\"\n" + only_main);
  ASSERT_THAT(codes(result), ElementsAre("flow-unscheduled"));
  EXPECT_EQ(result.problems[0].place.line, 3U);
}

}  // namespace seam::host::merge_test
