#include "pipeline/run/summary.hpp"

#include <limits>

#include "tests/support/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace seam::host::summary_test {

StageCount count(const std::string& stage, StageKind kind, std::uint64_t packets) {
  StageCount count;
  count.stage = stage;
  count.kind = kind;
  (kind == StageKind::source ? count.emitted : count.received) = packets;
  return count;
}

FlowResult result_of(std::uint64_t packets, double seconds) {
  FlowResult result;
  result.stages = {count("items", StageKind::source, packets),
                   count("decode", StageKind::parallel_transform, packets)};
  result.stages[1].busy_seconds = seconds / 2;
  DurationCounts calls{};  // in milliseconds
  calls.at(bucket_of(10)) = 98;
  calls.at(bucket_of(31)) = 2;
  result.stages[1].packet_times.add(calls, 1e-3);
  result.stages[1].dropped["too small"] = 2;
  result.stages[1].waiting_most = packets / 10;
  result.seconds = seconds;
  return result;
}

RunSummary summary_of(const FlowResult& result) {
  RunSummary summary;
  summary.flows.emplace_back().flow = "train";
  summary.flows[0].add(result);
  return summary;
}

TEST(FlowTotal, AddsUpTheTimesAFlowRan) {
  FlowTotal total;
  total.flow = "train";
  total.add(result_of(2000, 4));
  total.add(result_of(1000, 2));
  EXPECT_EQ(total.times, 2U);
  EXPECT_EQ(total.seconds, 6);
  ASSERT_EQ(total.stages.size(), 2U);
  EXPECT_EQ(total.stages[0].emitted, 3000U);
  EXPECT_EQ(total.stages[1].dropped.at("too small"), 4U);
  EXPECT_NEAR(total.stages[1].packet_times.percentile(0.98), 0.010, 0.001) << "196 of 200";
  EXPECT_NEAR(total.stages[1].packet_times.percentile(0.99), 0.031, 0.003);
  EXPECT_EQ(total.stages[1].waiting_most, 200U) << "the longest queue, not the sum";
}

TEST(Summary, TableHasARowAStage) {
  EXPECT_EQ(to_table(summary_of(result_of(2000, 4)), Timing::whole),
            "\nflow   stage   packets  dropped  failed  time  of wall    p50    p99  queue\n"
            "train  items     2,000        0       0   0 s      0 %                    0\n"
            "train  decode    2,000        2       0   2 s     50 %  10 ms  31 ms    200\n"
            "dropped by decode in train: 2 (too small)\n"
            "ledger: every packet is accounted for\n");
}

TEST(Summary, TimeIsThatOfGradientsAsWell) {
  FlowResult result = result_of(2000, 4);
  result.stages[1].backward_seconds = 1;
  const RunSummary summary = summary_of(result);
  EXPECT_THAT(to_table(summary, Timing::brief),
              HasSubstr("\nflow   stage   time  of wall  backward\n"
                        "train  decode   3 s     75 %      33 %  bottleneck\n"
                        "train  items    0 s      0 %\n"));
  EXPECT_THAT(to_table(summary, Timing::whole),
              HasSubstr("train  decode    2,000        2       0   3 s      33 %     75 %"));
}

TEST(Summary, MemoryIsThatOfAStagesLargestCall) {
  constexpr std::uint64_t mebibyte = 1 << 20;
  FlowResult result = result_of(2000, 4);
  result.stages[0].memory = {1, 0, 700 * mebibyte};
  result.stages[1].memory = {3 * mebibyte, mebibyte / 2, 640 * mebibyte};
  RunSummary summary = summary_of(result);
  result.stages[1].memory = {mebibyte, 200 * mebibyte, 650 * mebibyte};
  summary.flows[0].add(result);
  const std::string line =
      "memory in train: at most 700 MiB of tensors, in a call of items; decode keeps 200 MiB\n";
  EXPECT_THAT(to_table(summary, Timing::brief),
              AllOf(HasSubstr("\nflow   stage   time  of wall    memory\n"
                              "train  decode   4 s     50 %   3.0 MiB  bottleneck\n"
                              "train  items    0 s      0 %  <0.1 MiB\n"),
                    HasSubstr(line)));
  EXPECT_THAT(to_table(summary, Timing::whole),
              AllOf(HasSubstr("queue    memory     kept\n"),
                    HasSubstr("    200   3.0 MiB  200 MiB\n"), HasSubstr(line)));
}

TEST(Summary, WarnsOfAStageThatFailedOnEveryPacket) {
  FlowResult result = result_of(2000, 4);
  result.stages[1].failed = 2000;
  RunSummary summary = summary_of(result);
  EXPECT_THAT(to_table(summary, Timing::brief),
              HasSubstr("warning: stage 'decode' failed on all of its 2,000 packets in train"));

  summary.error = Error("no such folder");
  EXPECT_THAT(to_table(summary, Timing::brief), Not(HasSubstr("warning")))
      << "the run did not continue";
  summary.error.reset();

  summary.flows[0].stages[1].failed = 1999;
  EXPECT_THAT(to_table(summary, Timing::brief), Not(HasSubstr("warning")));
}

TEST(Summary, AnUnbalancedLedgerIsToldSentenceBySentence) {
  RunSummary summary;
  summary.code = ExitCode::incomplete;
  summary.imbalances = {"'a' sent 3 packets to 'b', which received 2"};
  EXPECT_THAT(to_table(summary, Timing::brief),
              AllOf(HasSubstr("does not balance\n  'a' sent 3"), Not(HasSubstr("accounted"))));
}

TEST(Summary, OnePacketIsNotSeveral) {
  RunSummary summary;
  summary.skipped_packets = 1;
  EXPECT_THAT(to_table(summary, Timing::brief),
              HasSubstr("skipped: 1 packet failed; see skipped.jsonl"));
  summary.skipped_packets = 1600;
  EXPECT_THAT(to_table(summary, Timing::brief),
              HasSubstr("skipped: 1,600 packets failed; see skipped.jsonl"));
}

TEST(Summary, JsonTellsHowItEnded) {
  RunSummary summary;
  summary.code = ExitCode::data;
  summary.error = Error("no such image");
  summary.error->while_doing("decoding");
  summary.position.epochs_done = 3;
  summary.position.best = 0.5;
  summary.metrics = {{"recall.r@1", 0.25}};
  PipelineSpec pipeline;
  pipeline.name = "demo";
  pipeline.schedule.epochs = 60;
  pipeline.chosen.variants = {"loss=arcface"};
  const std::string json = to_json(summary, pipeline);
  EXPECT_THAT(json, HasSubstr(R"({"pipeline":"demo","variants":["loss=arcface"],)"));
  EXPECT_THAT(json, AllOf(HasSubstr(R"("outcome":"data error","exit_code":3)"),
                          HasSubstr(R"("error":"no such image\n  while decoding")"),
                          HasSubstr(R"("epochs_done":3,"epochs":60)"), HasSubstr(R"("best":0.5)"),
                          HasSubstr(R"("metrics":{"recall.r@1":0.25})")));
}

TEST(Summary, ItsFlowsAreReadBack) {
  const seam::test::TemporaryFolder folder;
  FlowResult result = result_of(2000, 4);
  result.stages[1].dropped["smaller than 0.5"] = 3;
  result.stages[1].backward_seconds = 1.5;
  result.stages[1].memory = {5000, 400, 9000};
  RunSummary summary = summary_of(result);
  summary.metrics = {{"loss.loss", std::numeric_limits<double>::infinity()}};
  const auto file = folder.write("summary.json", to_json(summary, PipelineSpec()));
  const std::vector<FlowTotal> flows = read_flows(file);
  ASSERT_EQ(flows.size(), 1U);
  EXPECT_EQ(flows[0].flow, "train");
  EXPECT_EQ(flows[0].seconds, 4);
  ASSERT_EQ(flows[0].stages.size(), 2U);
  EXPECT_EQ(flows[0].stages[0].kind, StageKind::source);
  EXPECT_EQ(flows[0].stages[0].emitted, 2000U);
  EXPECT_EQ(flows[0].stages[1].busy_seconds, 2);
  EXPECT_EQ(flows[0].stages[1].backward_seconds, 1.5);
  EXPECT_EQ(flows[0].stages[0].memory, CallMemory()) << "not measured";
  EXPECT_EQ(flows[0].stages[1].memory, (CallMemory{5000, 400, 9000}));
  EXPECT_EQ(flows[0].stages[1].dropped.at("smaller than 0.5"), 3U);
}

TEST(Summary, AFileThatIsNoneIsSaidSo) {
  const seam::test::TemporaryFolder folder;
  for (const char* text : {"", "{", "[]", "{\"flows\":[{\"flow\":7}]}"}) {
    const auto file = folder.write("summary.json", text);
    EXPECT_REFUSED((void)read_flows(file), Fault::data, "summary.json' is not a valid summary.json")
        << text;
  }
  EXPECT_REFUSED((void)read_flows(folder.path() / "missing.json"), Fault::data, "cannot open '");
}

}  // namespace seam::host::summary_test
