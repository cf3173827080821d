#include "pipeline/report/run_record.hpp"

#include <cmath>

#include "tests/support/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host::run_record_test {

constexpr const char* metrics =
    R"({"epoch":0,"flow":"train","stage":"loss","name":"loss","step":0,"value":2}
{"epoch":0,"flow":"train","stage":"loss","name":"loss","step":1,"value":null}
{"epoch":1,"flow":"train","stage":"loss","name":"loss","step":0,"value":1e999}
{"epoch":1,"flow":"train","stage":"loss","name":"loss","step":1,"value":-1e999}
{"epoch":0,"flow":"evaluate","stage":"recall","name":"r@1","step":0,"value":0.5,"when":"before"}
)";

class RunRecordTest : public ::testing::Test {
 protected:
  RunRecordTest() {
    run_.write("resolved.toml", "#: seam = \"0.1.0\"\n\n[pipeline]\nname = \"x\"\n");
    run_.write("metrics.jsonl", metrics);
    run_.write("timing.jsonl", "{\"epoch\":0,\"flow\":\"train\",\"seconds\":2}\n");
    run_.write("summary.json", "{\"outcome\":\"success\"}\n");
  }

  test::TemporaryFolder run_;
};

TEST_F(RunRecordTest, ReadsWhatARunLeaves) {
  const RunRecord record = read_record(run_.path());
  EXPECT_EQ(record.launch.version, "0.1.0");
  ASSERT_THAT(record.metrics, SizeIs(2));
  ASSERT_THAT(record.metrics[0].points, SizeIs(4));
  EXPECT_EQ(record.metrics[0].points[0], (MetricPoint{0, 2}));
  EXPECT_TRUE(std::isnan(record.metrics[0].points[1].value));
  EXPECT_EQ(record.metrics[0].points[2].value, HUGE_VAL);
  EXPECT_EQ(record.metrics[0].points[3].value, -HUGE_VAL);
  EXPECT_EQ(record.metrics[1].when, "before");
  EXPECT_THAT(record.timing, SizeIs(1));
  EXPECT_EQ(record.summary->at("outcome"), "success");
  EXPECT_THAT(record.scores, IsEmpty());
  EXPECT_THAT(record.notes, IsEmpty());
}

TEST_F(RunRecordTest, TakesARunThatIsUnderWay) {
  std::filesystem::remove(run_.path() / "summary.json");
  std::filesystem::remove(run_.path() / "timing.jsonl");
  run_.write("metrics.jsonl", std::string(metrics) + R"({"epoch":2,"fl)");
  const RunRecord record = read_record(run_.path());
  EXPECT_FALSE(record.summary);
  EXPECT_THAT(record.metrics[0].points, SizeIs(4));
  EXPECT_THAT(record.notes, ElementsAre(HasSubstr("last line of metrics.jsonl is incomplete"),
                                        HasSubstr("no timing.jsonl")));
}

TEST_F(RunRecordTest, NamesTheLineThatIsDamaged) {
  run_.write("timing.jsonl", "{}\n{\"epoch\":\n{}\n");
  EXPECT_REFUSED(read_record(run_.path()), Fault::data,
                 "timing.jsonl:2: this line is not a valid record");
  run_.write("metrics.jsonl", std::string(metrics) + "{\"epoch\":\n" + metrics);
  EXPECT_REFUSED(read_record(run_.path()), Fault::data, "line 6 of '");
}

TEST_F(RunRecordTest, RefusesFilesThatItCannotRead) {
  run_.write("summary.json", "[1]");
  EXPECT_REFUSED(read_record(run_.path()), Fault::data, "is not the summary of a run");
  run_.write("summary.json", "{");
  EXPECT_REFUSED(read_record(run_.path()), Fault::data, "summary.json' is not valid JSON");
}

TEST_F(RunRecordTest, RefusesAFolderThatIsNoRun) {
  const test::TemporaryFolder other;
  EXPECT_REFUSED(read_record(other.path()), Fault::configuration,
                 "is not a run folder: it has no resolved.toml");
}

TEST_F(RunRecordTest, ReadsScoresOfOneFormat) {
  run_.write("score.json", R"({"format":1,"scores":[{"metric":"recall.r@1","value":0.6,
                            "standard_error":null,"better":"higher","flow":"evaluate","epoch":1,
                            "best":null,"protocol":null}]})");
  EXPECT_THAT(read_record(run_.path()).scores, SizeIs(1));
  run_.write("score.json", R"({"format":2,"scores":[]})");
  EXPECT_REFUSED(read_record(run_.path()), Fault::data,
                 "it has format 2, and this version of Seam reads format 1");
}

TEST_F(RunRecordTest, TakesTheLatestOfEachReport) {
  run_.write("reports/before-evaluate-recall.md", "# before\n");
  run_.write("reports/epoch-0009-evaluate-recall.md", "# 9\n");
  run_.write("reports/epoch-10000-evaluate-recall.md", "# 10000\n");
  run_.write("reports/epoch-0001-evaluate-after.md", "# 1\n");
  run_.write("reports/after-final-recall.md", "# after\n");
  run_.write("reports/notes.md", "# mine\n");
  const RunRecord record = read_record(run_.path());
  ASSERT_THAT(record.reports, SizeIs(3));
  EXPECT_EQ(record.reports[0].name, "evaluate-after");
  EXPECT_EQ(record.reports[1].name, "evaluate-recall");
  EXPECT_EQ(record.reports[1].moment, "epoch-10000");
  EXPECT_EQ(record.reports[1].text, "# 10000\n");
  EXPECT_EQ(record.reports[2].moment, "after");
}

}  // namespace seam::host::run_record_test
