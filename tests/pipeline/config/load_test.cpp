#include "pipeline/config/load.hpp"

#include "pipeline/config/parameters.hpp"
#include "tests/pipeline/config/load_fixture.hpp"
#include "tests/support/matchers.hpp"

namespace seam::host::load_test {

namespace fs = std::filesystem;
using ::testing::Field;

TEST_F(Load, SmallestPipeline) {
  const CheckedPipeline pipeline = loaded(simple);
  EXPECT_EQ(pipeline.spec.name, "pipeline");
  EXPECT_EQ(pipeline.spec.seed, 0U);
  EXPECT_FALSE(pipeline.spec.threads);
  ASSERT_THAT(pipeline.spec.stages, SizeIs(3));
  EXPECT_EQ(pipeline.spec.stages[0].name, "numbers");
  EXPECT_EQ(std::get<std::int64_t>(pipeline.spec.stages[0].values.at("count")), 5);
  ASSERT_THAT(pipeline.spec.flows, SizeIs(1));
  const FlowSpec& flow = pipeline.spec.flows.front();
  ASSERT_THAT(flow.nodes, SizeIs(3));
  EXPECT_THAT(flow.nodes[0].inputs, IsEmpty());
  EXPECT_THAT(flow.nodes[2].inputs, ElementsAre(1));
  EXPECT_EQ(flow.nodes[1].place.line, 12U);
  EXPECT_EQ(flow.nodes[1].place.column, 20U);
  EXPECT_EQ(pipeline.spec.schedule.epochs, 1);
  ASSERT_THAT(pipeline.spec.schedule.each_epoch, SizeIs(1));
  EXPECT_EQ(pipeline.spec.schedule.each_epoch[0].flow, "main");
  EXPECT_THAT(pipeline.stages, SizeIs(3));
  EXPECT_THAT(pipeline.plugins, SizeIs(1));
}

TEST_F(Load, AllSettings) {
  fs::create_directory(folder_.path() / "mine");
  const CheckedPipeline pipeline = loaded(std::string(R"([pipeline]
name = "all"
seed = 7
threads = 3
max_errors = 12
plugins = ["mine"]

[limits]
packets = 17
bytes = "1.5 KiB"

[schedule]
epochs = 60
each_epoch = ["main", { flow = "other", every = 5 }]
before = "first"
after = ["first", "other"]
stop_early = { metric = "scale.r@1", patience = 7, goal = "lowest" }
checkpoint_every = 2

)") + simple + R"(other = "numbers -> total"
first = "numbers"
)");
  const PipelineSpec& spec = pipeline.spec;
  EXPECT_EQ(spec.name, "all");
  EXPECT_EQ(spec.seed, 7U);
  EXPECT_EQ(spec.threads, 3);
  EXPECT_EQ(spec.max_errors, 12);
  EXPECT_THAT(spec.plugin_paths, ElementsAre((folder_.path() / "mine").string()));
  EXPECT_EQ(spec.limits.packets, 17);
  EXPECT_EQ(spec.limits.bytes, 1536);
  EXPECT_EQ(spec.schedule.epochs, 60);
  ASSERT_THAT(spec.schedule.each_epoch, SizeIs(2));
  EXPECT_EQ(spec.schedule.each_epoch[1].flow, "other");
  EXPECT_EQ(spec.schedule.each_epoch[1].every, 5);
  EXPECT_THAT(spec.schedule.before, ElementsAre("first"));
  EXPECT_THAT(spec.schedule.after, ElementsAre("first", "other"));
  ASSERT_TRUE(spec.schedule.stop_early);
  EXPECT_EQ(spec.schedule.stop_early->metric, "scale.r@1");
  EXPECT_EQ(spec.schedule.stop_early->patience, 7);
  EXPECT_EQ(spec.schedule.stop_early->goal, Goal::lowest);
  EXPECT_EQ(spec.schedule.checkpoint_every.epochs, 2);
}

TEST_F(Load, WithoutAnEpochListAllOtherFlowsRun) {
  const CheckedPipeline pipeline = loaded(std::string(simple) +
                                          "b = \"numbers -> total\"\na = \"numbers -> scale\"\n"
                                          "[schedule]\nbefore = [\"b\"]\n");
  EXPECT_THAT(pipeline.spec.schedule.each_epoch,
              ElementsAre(Field(&ScheduledFlow::flow, "main"), Field(&ScheduledFlow::flow, "a")));
}

TEST_F(Load, EveryKindOfParameter) {
  const CheckedPipeline pipeline = loaded(R"([stage.numbers]
use = "fixture.numbers"

[stage.all]
use = "fixture.every_kind"
on_error = { retry = 3 }
flag = true
count = 4
small = 255
ratio = 1
title = "a \"title\" for $$5"
kind = "c"
file = "/data/list.txt"
mode = "linear"
sizes = 9
weights = [0, 0.5, 1]
names = "one"
modes = ["nearest"]
limit = 0

[flow]
main = "numbers -> all"
)");
  const StageSpec& all = stage(pipeline, "all");
  EXPECT_EQ(all.on_error, OnError::retry);
  EXPECT_EQ(all.retries, 3);
  const auto& values = all.values;
  EXPECT_EQ(values.at("flag"), Value{true});
  EXPECT_EQ(values.at("small"), Value{std::int64_t{255}});
  EXPECT_EQ(values.at("ratio"), Value{1.0});
  EXPECT_EQ(values.at("title"), Value{std::string("a \"title\" for $5")});
  EXPECT_EQ(values.at("sizes"), Value{std::vector<std::int64_t>{9}});
  EXPECT_EQ(values.at("weights"), (Value{std::vector<double>{0, 0.5, 1}}));
  EXPECT_EQ(values.at("names"), Value{std::vector<std::string>{"one"}});
  EXPECT_EQ(values.at("modes"), Value{std::vector<std::string>{"nearest"}});
}

TEST_F(Load, TextsThatAreNotUtf8AreRefused) {
  environment_["ROOT"] = "/data/caf\xE9";
  const LoadResult result = load(R"([stage.numbers]
use = "fixture.numbers"
[stage.texts]
use = "fixture.every_kind"
file = "${ROOT}/list.txt"
[flow]
main = "numbers -> texts"
)",
                                 {"pipeline.name=caf\xE9"});
  EXPECT_FALSE(result.pipeline);
  std::string problems;
  for (const Problem& problem : result.problems) problems += to_text(problem);
  EXPECT_THAT(problems,
              AllOf(HasSubstr("'/data/caf\xEF\xBF\xBD/list.txt', which is not valid UTF-8"),
                    HasSubstr("--set:1:1: error: this is not valid UTF-8")));
}

TEST_F(Load, EmptyListsFitEveryList) {
  loaded(R"([stage.numbers]
use = "fixture.numbers"
[stage.all]
use = "fixture.every_kind"
sizes = []
weights = []
names = []
modes = []
[flow]
main = "numbers -> all"
)");
}

TEST_F(Load, StagesAreConfigured) {
  // The contract that convolve checks is computed from the parameter that was set.
  const std::string text = R"([stage.numbers]
use = "fixture.numbers"
[stage.images]
use = "fixture.images"
channels = CHANNELS
[stage.convolve]
use = "fixture.convolve"
[flow]
main = "numbers -> images -> convolve"
)";
  const auto with = [&](const std::string& channels) {
    std::string changed = text;
    return changed.replace(changed.find("CHANNELS"), 8, channels);
  };
  loaded(with("3"));
  EXPECT_THAT(codes(load(with("1"))), ElementsAre("field-contract"));
}

/// Two stages, each of which doubles the length of feature vectors, after one that makes 64 values.
const std::string projected = pipeline_of("numbers images convolve wide=project wider=project",
                                          "numbers -> images -> convolve -> wide -> wider");

TEST_F(Load, ASizeThatTheFileOmitsIsThatOfTheFieldThatArrives) {
  const CheckedPipeline pipeline = loaded(projected);
  EXPECT_EQ(stage(pipeline, "wide").values.at("width"), Value{std::int64_t{64}});
  EXPECT_EQ(stage(pipeline, "wider").values.at("width"), Value{std::int64_t{128}});
  EXPECT_EQ(pipeline.stages.at("wider")->description().provides.at(0).contract, "f32[N,256]");
  EXPECT_THAT(pipeline.spec.resolved, HasSubstr("\n# width = 128  # from the fields that arrive\n"))
      << "the file does not set it: with other fields it is a different one";
  EXPECT_FALSE(parameters_of(pipeline.spec.resolved, "a run").contains("stage.wider.width"))
      << "`--from` and twins compare what the files set";
  EXPECT_EQ(stage(loaded(pipeline.spec.resolved), "wider").values.at("width"),
            Value{std::int64_t{128}});
  EXPECT_EQ(stage(loaded(projected, {"stage.wide.width=64"}), "wide").from_fields.size(), 0U);
}

TEST_F(Load, ANameIsOneSizeInAllContractsOfAStage) {
  const std::string text = pipeline_of("numbers images smooth again=smooth project",
                                       "numbers -> images -> smooth -> again -> project");
  const CheckedPipeline pipeline = loaded(text, {"stage.images.height=32"});
  EXPECT_EQ(stage(pipeline, "project").values.at("width"), Value{std::int64_t{32}});
  EXPECT_THAT(codes(load(text)), ElementsAre("missing-parameter")) << "the height is unknown";
}

const std::string blurred = R"([stage.numbers]
use = "fixture.numbers"
[stage.blur]
use = "fixture.blur"
sharpness = 0.7
[flow]
main = "numbers -> blur"
)";

TEST_F(Load, AnOverrideMayTakeTheEffectOfAValueOfTheFile) {
  EXPECT_EQ(stage(loaded(blurred, {"stage.blur.mode=cubic"}), "blur").values.at("sharpness"),
            Value{0.7});
  const CheckedPipeline nearest = loaded(blurred, {"stage.blur.mode=nearest"});
  EXPECT_FALSE(stage(nearest, "blur").values.contains("sharpness")) << "--set cannot remove it";
  EXPECT_THAT(nearest.spec.resolved, HasSubstr("# sharpness: not set\n"));
}

TEST_F(Load, AnOverrideWithoutAnEffectIsRejected) {
  EXPECT_THAT(codes(load(blurred, {"stage.blur.mode=nearest", "stage.blur.sharpness=0.9"})),
              ElementsAre("no-effect"));
}

TEST_F(Load, ASizeIsKnownWhateverTheOrderOfStagesAndFlows) {
  // In the first flow the size is unknown, and in the second one the stages do not begin the file.
  const CheckedPipeline pipeline = loaded(R"([stage.last]
use = "fixture.project"
[stage.silent]
use = "fixture.project"
tells = false
)" + projected + R"(other = "numbers -> images -> convolve -> silent -> last"
again = "numbers -> images -> convolve -> wide -> last"
)");
  EXPECT_EQ(stage(pipeline, "last").values.at("width"), Value{std::int64_t{128}});
}

TEST_F(Load, ASizeThatDiffersFromTheFieldIsRejected) {
  EXPECT_THAT(codes(load(projected, {"stage.wider.width=64"})), ElementsAre("field-contract"));
  // One stage cannot have two sizes.
  EXPECT_THAT(codes(load(projected + "again = \"numbers -> images -> convolve -> wider\"\n")),
              ElementsAre("field-contract"));
}

TEST_F(Load, ReferencesAreBound) {
  const CheckedPipeline pipeline = loaded(R"([stage.numbers]
use = "fixture.numbers"
[stage.gallery]
use = "fixture.index"
[stage.search]
use = "fixture.search"
index = "gallery"
[flow]
gallery = "numbers -> gallery"
search = "numbers -> search"
)");
  EXPECT_EQ(stage(pipeline, "search").references.at("index"), "gallery");
  // It would fail on an unbound reference.
  StageRunner& search = *pipeline.stages.at("search");
  RunState run;
  Packet packet;
  packet.set(seam::Field<std::int64_t>{"number"}, std::int64_t{5});
  EXPECT_TRUE(search.transform(run, packet));
  EXPECT_EQ(packet.get(seam::Field<std::int64_t>{"found"}), 0);
}

TEST_F(Load, BranchesThatTouchDifferentFieldsJoin) {
  const CheckedPipeline pipeline = loaded(pipeline_of(
      "numbers label scale report total", "numbers -> {label, scale} -> {report, total}"));
  const FlowSpec& flow = pipeline.spec.flows.front();
  EXPECT_THAT(flow.nodes[3].inputs, ElementsAre(1, 2));
  EXPECT_THAT(flow.nodes[4].inputs, ElementsAre(1, 2));
}

TEST_F(Load, Variables) {
  environment_["COUNT_NAME"] = "other";
  const CheckedPipeline pipeline =
      loaded("[pipeline]\nname = \"${COUNT_NAME}-${MISSING:-x}\"\n" + std::string(simple));
  EXPECT_EQ(pipeline.spec.name, "other-x");
}

TEST_F(Load, VariablesThatAreOverriddenNeedNoValue) {
  const std::string text = "[pipeline]\nname = \"${NOT_SET}\"\n" + std::string(simple);
  EXPECT_THAT(codes(load(text)), ElementsAre("undefined-variable"));
  EXPECT_EQ(loaded(text, {"pipeline.name=given"}).spec.name, "given");
}

TEST_F(Load, Overrides) {
  const CheckedPipeline pipeline =
      loaded(simple, {"stage.numbers.count=7", "stage.scale.mode=cubic", "pipeline.seed=3",
                      "flow.other=numbers -> total", "stage.numbers.count = 8"});
  EXPECT_EQ(stage(pipeline, "numbers").values.at("count"), Value{std::int64_t{8}});
  EXPECT_EQ(stage(pipeline, "scale").values.at("mode"), Value{std::string("cubic")});
  EXPECT_EQ(pipeline.spec.seed, 3U);
  EXPECT_THAT(pipeline.spec.flows, SizeIs(2));
}

TEST_F(Load, OverrideCanAddAWholeStage) {
  loaded(simple, {"stage.more.use=fixture.scale", "stage.more.factor=2",
                  "flow.main=numbers -> scale -> more -> total"});
}

TEST_F(Load, OverrideProblemsPointAtTheOption) {
  const LoadResult result = load(simple, {"pipeline.seed=3", "stage.scale.factor=9"});
  ASSERT_THAT(result.problems, SizeIs(1));
  EXPECT_EQ(result.problems[0].place.file, "--set");
  EXPECT_EQ(result.problems[0].place.line, 2U);
  EXPECT_EQ(result.problems[0].place.column, 20U);
  EXPECT_EQ(result.problems[0].source_line, "stage.scale.factor=9");
}

TEST_F(Load, ExtendsInLayers) {
  folder_.write("bases/deep.toml", std::string("[pipeline]\nname = \"deep\"\nseed = 1\n"
                                               "[schedule]\nepochs = 3\n"
                                               "stop_early = { metric = \"total.x\", patience = 7 "
                                               "}\n") +
                                       simple);
  folder_.write("bases/middle.toml",
                "extends = \"deep.toml\"\n[pipeline]\nseed = 2\n"
                "[stage.scale]\nfactor = 2.0\nmode = \"cubic\"\n");
  folder_.write("more.toml", "[stage.scale]\nmode = \"nearest\"\n");
  const CheckedPipeline pipeline = loaded(
      "extends = [\"bases/middle.toml\", \"more.toml\"]\n"
      "[pipeline]\nname = \"top\"\n[schedule]\nstop_early = { patience = 2 }\n");
  EXPECT_EQ(pipeline.spec.name, "top");
  EXPECT_EQ(pipeline.spec.seed, 2U);
  EXPECT_EQ(stage(pipeline, "scale").values.at("factor"), Value{2.0});
  EXPECT_EQ(stage(pipeline, "scale").values.at("mode"), Value{std::string("nearest")});
  EXPECT_EQ(pipeline.spec.schedule.epochs, 3);
  EXPECT_EQ(pipeline.spec.schedule.stop_early->patience, 2);
  EXPECT_EQ(pipeline.spec.schedule.stop_early->metric, "total.x");
}

TEST_F(Load, AnExtendedRuleForStoppingEarlyCanBeTurnedOff) {
  folder_.write(
      "base.toml",
      std::string(simple) + "[schedule]\nstop_early = { metric = \"total.x\", patience = 7 }\n");
  const CheckedPipeline pipeline =
      loaded("extends = \"base.toml\"\n[schedule]\nstop_early = false\n");
  EXPECT_EQ(pipeline.spec.schedule.stop_early, std::nullopt);
}

TEST_F(Load, ResolvedReadsBackAsTheSamePipeline) {
  folder_.write("base.toml", simple);
  fs::create_directory(folder_.path() / "mine");
  environment_["TITLE"] = "cost: $5 \"quoted\"\n\x7f";
  const CheckedPipeline first = loaded(R"(extends = "base.toml"
[pipeline]
seed = 9
max_errors = 3
plugins = ["mine"]
[limits]
bytes = "3 MiB"
[stage.all]
use = "fixture.every_kind"
title = "${TITLE}"
weights = [0.1, 1e-20, 1]
on_error = { retry = 2 }
[stage.gallery]
use = "fixture.index"
[stage.search]
use = "fixture.search"
index = "gallery"
[stage.scale]
concurrency = 2
factor = 1.0
[stage.blur]
use = "fixture.blur"
preset = "theirs"
[flow]
gallery = "numbers -> gallery"
search = '''
  numbers -> search -> blur
    -> all'''
[schedule]
epochs = 4
each_epoch = ["main", "gallery", { flow = "search", every = 2 }]
stop_early = { metric = "total.total", patience = 2, goal = "lowest" }
)");
  EXPECT_THAT(first.spec.resolved,
              AllOf(HasSubstr("factor = 1.0  # default"), HasSubstr("# limit: not set"),
                    HasSubstr("weights = [0.1, 1e-20, 1.0]\n"), HasSubstr("cost: $$5"),
                    HasSubstr("index = \"gallery\"")));
  EXPECT_THAT(first.spec.resolved,
              AllOf(HasSubstr("preset = \"theirs\"\n"), HasSubstr("# radius = 5  # default"),
                    HasSubstr("# sharpness: not set")))
      << "a parameter that has no effect would be rejected when this is read again";
  environment_.clear();
  const CheckedPipeline second = loaded(first.spec.resolved);
  EXPECT_EQ(second.spec.resolved, first.spec.resolved);
  EXPECT_EQ(stage(second, "all").values.at("title"), stage(first, "all").values.at("title"));
  EXPECT_EQ(second.spec.flows.size(), first.spec.flows.size());
  EXPECT_EQ(second.spec.flows[2].nodes.size(), first.spec.flows[2].nodes.size());
  EXPECT_EQ(second.spec.schedule.stop_early->goal, Goal::lowest);
}

TEST_F(Load, ResolvedTakesAnotherPresetAndOtherConditions) {
  folder_.write("base.toml", simple);
  const auto with_blur = [&](const std::string& keys) {
    return loaded("extends = \"base.toml\"\n[stage.blur]\nuse = \"fixture.blur\"\n" + keys +
                  "[flow]\nmore = \"numbers -> blur\"\n")
        .spec.resolved;
  };
  const auto with = [&](std::string resolved, const std::string& from, const std::string& to) {
    resolved.replace(resolved.find(from), from.size(), to);
    return loaded(resolved).spec.resolved;
  };
  const std::string theirs = "preset = \"theirs\"\n";
  const std::string ours = "preset = \"ours\"\n";
  EXPECT_THAT(with(with_blur(theirs), theirs, ours),
              AllOf(HasSubstr("# mode = \"linear\"  # default"), HasSubstr("# radius = 2")));
  EXPECT_THAT(with(with_blur(theirs + "radius = 5\n"), theirs, ours), HasSubstr("\nradius = 5\n"))
      << "a value of the file stays, even if it was the other preset's default";
  const std::string cubic = with_blur("mode = \"cubic\"\n");
  EXPECT_THAT(cubic, HasSubstr("# sharpness = 0.5  # default"));
  EXPECT_THAT(with(cubic, "mode = \"cubic\"", "mode = \"nearest\""),
              HasSubstr("# sharpness: not set"));
}

TEST_F(Load, WarningsLeaveThePipelineSound) {
  const LoadResult result =
      load(std::string(simple) + "[stage.spare]\nuse = \"fixture.scale\"\ngain = 2\n");
  EXPECT_TRUE(result.pipeline);
  EXPECT_THAT(codes(result), UnorderedElementsAre("stage-unused", "renamed-parameter"));
  EXPECT_EQ(stage(*result.pipeline, "spare").values.at("factor"), Value{2.0});
}

TEST_F(Load, FilesThatCannotBeRead) {
  LoadOptions options;
  options.file = folder_.path() / "none.toml";
  EXPECT_THAT(codes(load_pipeline(options)), ElementsAre("file"));
  options.file = folder_.path();
  const LoadResult result = load_pipeline(options);
  ASSERT_THAT(result.problems, SizeIs(1));
  EXPECT_THAT(result.problems[0].message, HasSubstr("it is a folder"));
  options.file = "/dev/zero";
  EXPECT_THAT(load_pipeline(options).problems.at(0).message, HasSubstr("16 MiB"));
}

TEST_F(Load, PluginThatCannotBeLoadedIsAProblem) {
  LoadOptions options;
  options.file = folder_.write("p.toml",
                               "[stage.a]\nuse = \"unresolved.stage\"\n"
                               "[flow]\nmain = \"a\"\n");
  options.plugin_paths = {std::string(SEAM_TEST_PLUGINS) + "/unresolved"};
  const LoadResult result = load_pipeline(options);
  ASSERT_THAT(result.problems, SizeIs(1));
  EXPECT_EQ(result.problems[0].code, "plugin-load");
  EXPECT_THAT(result.problems[0].message, HasSubstr("undefined symbol"));
}

TEST_F(Load, PluginsOfTheFileAreRelativeToIt) {
  fs::create_directory(folder_.path() / "mine");
  fs::copy_file(fs::path(SEAM_TEST_PLUGINS) / "good/seam_test_stages.so",
                folder_.path() / "mine/stages.so");
  LoadOptions options;
  options.file =
      folder_.write("p.toml", "[pipeline]\nplugins = [\"mine\"]\n" + std::string(simple));
  options.search_path.emplace();
  const LoadResult result = load_pipeline(options);
  ASSERT_TRUE(result.pipeline);
  EXPECT_EQ(result.pipeline->plugins.at(0).path, folder_.path() / "mine/stages.so");
}

TEST_F(Load, OfAFieldThatIsChangedAgainBehindAForkTheLastChangeIsTaken) {
  (void)loaded(pipeline_of("numbers p=scale x=scale g=label h=chained total",
                           "numbers -> {g, p -> {h, x}} -> total"));
}

}  // namespace seam::host::load_test
