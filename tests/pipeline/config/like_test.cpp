#include "pipeline/config/like.hpp"

#include "tests/pipeline/config/load_fixture.hpp"
#include "tests/support/matchers.hpp"

namespace seam::host::like_test {

class Like : public Load {};

constexpr const char* three_scales = R"([stage.numbers]
use = "fixture.numbers"

[stage.third]
like = "second"
mode = "nearest"

[stage.second]
like = "first"
factor = 3

[stage.first]
use = "fixture.scale"
factor = 2
mode = "cubic"
on_error = { retry = 4 }
concurrency = 2

[flow]
main = "numbers -> first -> second -> third"
)";

TEST_F(Like, HasTheKeysThatItDoesNotSet) {
  const CheckedPipeline pipeline = loaded(three_scales);
  const StageSpec& second = stage(pipeline, "second");
  EXPECT_EQ(second.use, "fixture.scale");
  EXPECT_EQ(second.like, "first");
  EXPECT_EQ(second.values.at("factor"), Value{3.0});
  EXPECT_EQ(second.values.at("mode"), Value{std::string("cubic")});
  EXPECT_EQ(second.on_error, OnError::retry);
  EXPECT_EQ(second.retries, 4);
  EXPECT_EQ(second.concurrency, 2);
  const StageSpec& third = stage(pipeline, "third");
  EXPECT_EQ(third.use, "fixture.scale");
  EXPECT_EQ(third.values.at("factor"), Value{3.0});
  EXPECT_EQ(third.values.at("mode"), Value{std::string("nearest")});
  EXPECT_EQ(third.concurrency, 2);
  EXPECT_EQ(stage(pipeline, "first").values.at("factor"), Value{2.0});
}

TEST_F(Like, FollowsWhatIsSetLater) {
  folder_.write("base.toml", three_scales);
  environment_["MODE"] = "linear";
  const CheckedPipeline pipeline =
      loaded("extends = \"base.toml\"\n[stage.first]\nmode = \"${MODE}\"\n",
             {"stage.first.concurrency=3", "stage.second.concurrency=1", "stage.first.factor=0.5"});
  EXPECT_EQ(stage(pipeline, "second").values.at("mode"), Value{std::string("linear")});
  EXPECT_EQ(stage(pipeline, "third").values.at("mode"), Value{std::string("nearest")});
  EXPECT_EQ(stage(pipeline, "first").concurrency, 3);
  EXPECT_EQ(stage(pipeline, "third").concurrency, 1);
  EXPECT_EQ(stage(pipeline, "third").values.at("factor"), Value{3.0});
}

TEST_F(Like, MaySayItsUseAgain) {
  const CheckedPipeline pipeline = loaded(
      std::string(three_scales) + "[stage.fourth]\nlike = \"first\"\nuse = \"fixture.scale\"\n");
  EXPECT_EQ(stage(pipeline, "fourth").values.at("factor"), Value{2.0});
}

TEST_F(Like, GoesByParameterWhereOneIsRenamed) {
  const LoadResult result = load(R"([stage.numbers]
use = "fixture.numbers"
[stage.a]
use = "fixture.scale"
gain = 2
[stage.b]
like = "a"
factor = 3
[stage.c]
like = "b"
[flow]
main = "numbers -> a -> b -> c"
)");
  EXPECT_THAT(codes(result), ElementsAre("renamed-parameter"));
  ASSERT_TRUE(result.pipeline);
  EXPECT_EQ(stage(*result.pipeline, "a").values.at("factor"), Value{2.0});
  EXPECT_EQ(stage(*result.pipeline, "b").values.at("factor"), Value{3.0});
  EXPECT_EQ(stage(*result.pipeline, "c").values.at("factor"), Value{3.0});
}

TEST_F(Like, ResolvedTextsHaveTheKeysThemselves) {
  const CheckedPipeline pipeline = loaded(three_scales);
  EXPECT_THAT(pipeline.spec.resolved, Not(HasSubstr("like")));
  const CheckedPipeline again = loaded(pipeline.spec.resolved);
  EXPECT_EQ(again.spec.resolved, pipeline.spec.resolved);
  EXPECT_EQ(stage(again, "third").values, stage(pipeline, "third").values);
}

TEST_F(Like, AStageThatAnotherIsLikeIsNotUnused) {
  const LoadResult result = load(R"([stage.numbers]
use = "fixture.numbers"
[stage.scale]
use = "fixture.scale"
[stage.other]
like = "scale"
[flow]
main = "numbers -> other"
)");
  EXPECT_THAT(codes(result), IsEmpty());
}

TEST_F(Like, LongChainsAreFollowed) {
  std::string text = "[stage.numbers]\nuse = \"fixture.numbers\"\ncount = 3\n";
  std::string before = "numbers";
  for (int i = 0; i < 300; ++i) {
    const std::string name = "n" + std::to_string(i);
    text += "[stage." + name + "]\nlike = \"" + before + "\"\n";
    before = name;
  }
  const CheckedPipeline pipeline = loaded(text + "[flow]\nmain = \"" + before + "\"\n");
  EXPECT_EQ(stage(pipeline, before).values.at("count"), Value{std::int64_t{3}});
}

TEST_F(Like, OneStageAloneIsLikeNone) {
  Registry registry({{std::string(SEAM_TEST_PLUGINS) + "/good", "the test"}}, 1);
  EXPECT_THAT(codes(load_stage("fixture.scale", {"like=other"}, {}, registry)),
              ElementsAre("unknown-stage"));
  EXPECT_THAT(codes(load_stage("fixture.scale", {"like=scale"}, {}, registry)),
              ElementsAre("like-cycle"));
}

}  // namespace seam::host::like_test
