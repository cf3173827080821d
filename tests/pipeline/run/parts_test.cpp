#include "pipeline/run/parts.hpp"

#include <gmock/gmock.h>

#include "seam/refusal_testing.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host::parts_test {

using Environment = std::map<std::string, std::string>;

TEST(ShardFrom, TakesNumbersFromZero) {
  EXPECT_EQ(shard_from("0/1", {}), (Shard{0, 1}));
  EXPECT_EQ(shard_from("41/100", {}), (Shard{41, 100}));
  EXPECT_EQ(to_text(Shard{41, 100}), "41/100");
  for (const char* text :
       {"", "/", "3", "3/", "/3", "3/3", "4/3", "-1/3", "1/3/5", "0/0", "a/b", " 1/3"}) {
    EXPECT_REFUSED((void)shard_from(text, {}), Fault::configuration, "NUMBER/COUNT");
  }
}

TEST(ShardFrom, ReadsTheEnvironmentOnlyForAuto) {
  const Environment slurm{{"SLURM_ARRAY_TASK_ID", "12"},
                          {"SLURM_ARRAY_TASK_MIN", "10"},
                          {"SLURM_ARRAY_TASK_MAX", "13"},
                          {"SLURM_ARRAY_TASK_COUNT", "4"}};
  EXPECT_EQ(shard_from("0/3", slurm), (Shard{0, 3}));
  EXPECT_EQ(shard_from("auto", slurm), (Shard{2, 4}));
  Environment with_gaps = slurm;
  with_gaps["SLURM_ARRAY_TASK_COUNT"] = "2";  // --array=10,13
  EXPECT_REFUSED((void)shard_from("auto", with_gaps), Fault::configuration, "without gaps");
  const Environment kubernetes{{"JOB_COMPLETION_INDEX", "7"}, {"JOB_COMPLETIONS", "8"}};
  EXPECT_EQ(shard_from("auto", kubernetes), (Shard{7, 8}));
  EXPECT_REFUSED((void)shard_from("auto", {{"JOB_COMPLETION_INDEX", "7"}}), Fault::configuration,
                 "JOB_COMPLETIONS, which is not set");
  for (const char* count : {"0", "7"}) {
    EXPECT_REFUSED(
        (void)shard_from("auto", {{"JOB_COMPLETION_INDEX", "7"}, {"JOB_COMPLETIONS", count}}),
        Fault::configuration, std::string("not the environment's 7/") + count);
  }
  Environment both = slurm;
  both.insert(kubernetes.begin(), kubernetes.end());
  EXPECT_REFUSED((void)shard_from("auto", both), Fault::configuration, "ambiguous");
  EXPECT_REFUSED((void)shard_from("auto", {}), Fault::configuration, "SLURM_ARRAY_TASK_ID");
}

TEST(Parts, NamesTheFirstDifference) {
  const PartInputs one{"[pipeline]\nseed = 1\n[limits]\nbytes = 5\n",
                       Roles(),
                       {{"stage.a.list", "1"}},
                       {"x"},
                       "cpu"};
  PartInputs other = one;
  EXPECT_EQ(difference_between(one, other), "");
  other.pipeline = "[pipeline]\nseed = 1\n[limits]\nbytes = 6\n";
  EXPECT_EQ(difference_between(one, other), "") << "limits do not change results";
  EXPECT_EQ(digest_of(one), digest_of(other));
  const auto differs = [&](const std::string& how) {
    EXPECT_EQ(difference_between(one, other), how);
    EXPECT_NE(digest_of(one), digest_of(other)) << how;
  };
  other.plugins = {"y"};
  differs("the plugins");
  other.plugins = one.plugins;
  other.program = "cuda:0";
  differs("computed by cuda:0 (was cpu)");
  other.program = one.program;
  other.files["stage.b.list"] = "1";
  differs("the content of stage.b.list");
  other.files = {};
  differs("the content of stage.a.list");
  other.files["stage.a.list"] = "2";
  differs("the content of stage.a.list");
  other.pipeline = "[pipeline]\nseed = 2\n";
  EXPECT_THAT(difference_between(one, other), ::testing::HasSubstr("pipeline.seed = 2 (was 1)"));
}

TEST(Parts, ThoseOfAFolderHaveOnePluginAndOneProgram) {
  const test::TemporaryFolder folder;
  Launch launch;
  launch.version = "1.2.3";
  launch.plugins = {{"a.so", "abc", "2.1.0", "4.6.0"}};
  launch.shard = "0/2";
  launch.numerics = "cpu in float32";
  const std::string pipeline = "[pipeline]\nseed = 1\n";
  const auto refuse_beside = [&](const Launch& beside) {
    (void)folder.write("part-00000-of-00002/resolved.toml", headed_text(beside, pipeline));
    refuse_other_parts(folder.path(), {1, 2}, inputs_of(launch, pipeline));
  };
  refuse_beside(launch);
  Launch other = launch;
  other.plugins[0].sha256 = "abd";
  EXPECT_REFUSED(refuse_beside(other), Fault::configuration,
                 "part-00000-of-00002' was made differently: the plugins;");
  other = launch;
  other.numerics = "cuda:0 in bfloat16";
  EXPECT_REFUSED(refuse_beside(other), Fault::configuration,
                 "computed by Seam 1.2.3, LibTorch 2.1.0, OpenCV 4.6.0, cpu in float32 (was Seam "
                 "1.2.3, LibTorch 2.1.0, OpenCV 4.6.0, cuda:0 in bfloat16)");
  other = launch;
  other.plugins[0].opencv = "4.7.0";
  EXPECT_REFUSED(refuse_beside(other), Fault::configuration, "OpenCV 4.7.0");
  other = launch;
  other.shard = "0/0";
  EXPECT_REFUSED(refuse_beside(other), Fault::configuration,
                 "part-00000-of-00002/resolved.toml' is damaged");
}

TEST(Parts, ThoseOfAFolderHaveReadTheSameLists) {
  const test::TemporaryFolder folder;
  const auto own = folder.path() / "part-00001-of-00002";
  (void)folder.write("part-00001-of-00002/summary.json", R"({"listings":{"items":"2"}})");
  refuse_other_lists(own, {{"items", 1}});
  (void)folder.write("failed/summary.json", R"({"listings":{}})");
  (void)folder.write("part-00000-of-00002/summary.json", R"({"listings":{"items":"1"}})");
  refuse_other_lists(own, {{"items", 1}, {"more", 5}});
  EXPECT_REFUSED(refuse_other_lists(own, {{"items", 3}}), Fault::configuration,
                 "part-00000-of-00002' was made differently: the list of stage 'items';");
}

TEST(Parts, DamageIsNamed) {
  const test::TemporaryFolder folder;
  (void)folder.write(
      "summary.json",
      R"({"files": {"a.npy": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}})");
  EXPECT_EQ(damage_of(folder.path()), "'a.npy' is missing");
  (void)folder.write("a.npy", "abc");
  EXPECT_EQ(damage_of(folder.path()), "");
  (void)folder.write("a.npy", "abd");
  EXPECT_EQ(damage_of(folder.path()), "'a.npy' has changed since it was written");
  (void)folder.write("summary.json", "{");
  EXPECT_THAT(damage_of(folder.path()), ::testing::HasSubstr("summary.json is damaged"));
}

}  // namespace seam::host::parts_test
