#include "pipeline/run/display.hpp"

#include <sstream>

#include "pipeline/run/clock.hpp"
#include "tests/support/matchers.hpp"

namespace seam::host::display_test {

/// The flow "train", with its progress and metrics.
class ProgressLine : public ::testing::Test {
 protected:
  ProgressLine() {
    view_.flow = "train";
    view_.progress = &progress_;
    view_.metrics = &metrics_;
  }

  FlowProgress progress_;
  Metrics metrics_;
  FlowView view_;
};

class DisplayTest : public ProgressLine {
 protected:
  std::ostringstream results_;
  std::ostringstream messages_;
};

TEST_F(ProgressLine, TellsWhatIsKnown) {
  EXPECT_EQ(progress_line(view_, 0), "train  0 packets");
  view_.epoch = 2;
  view_.epochs = 60;
  progress_.finished = 12'400;
  view_.expected = 25'882;
  metrics_.record("triplet_loss", "loss", 0.12345);
  view_.run_seconds_left = 350;
  EXPECT_EQ(progress_line(view_, 100),
            "epoch 3/60  train  12,400/25,882 packets  124/s  loss 0.1235  "
            "flow ends in 1 min 49 s  run ends in 4 min 10 s");
  EXPECT_THAT(progress_line(view_, 300),
              HasSubstr("flow ends in 5 min 26 s  run ends in 5 min 26 s"))
      << "slower than the flows before";
  progress_.finished = 26'000;  // more than last time
  EXPECT_THAT(progress_line(view_, 400), HasSubstr("26,000/26,000"));
  EXPECT_THAT(progress_line(view_, 400), HasSubstr("run ends in 0 s"));
}

TEST_F(ProgressLine, FitsTheTerminal) {
  view_.epoch = 2;
  view_.epochs = 60;
  progress_.finished = 2'500;
  view_.expected = 10'000;
  view_.run_seconds_left = 350;
  metrics_.record("triplet_loss", "loss", 0.12345);
  EXPECT_EQ(progress_line(view_, 10, {200, false}),
            "epoch 3/60  train  [====>               ]  2,500/10,000 packets  250/s  loss 0.1235  "
            "flow ends in 30 s  run ends in 5 min 40 s");
  EXPECT_EQ(progress_line(view_, 10, {80, false}),
            "epoch 3/60  train  2,500/10,000 packets  loss 0.1235  run ends in 5 min 40 s");
  EXPECT_EQ(progress_line(view_, 10, {10, false}), "epoch 3/6");
  EXPECT_THAT(progress_line(view_, 10, {200, true}), HasSubstr("[\x1b[36m====>\x1b[0m  "));
  progress_.finished = 11'000;  // more than last time
  EXPECT_THAT(progress_line(view_, 10, {200, false}), HasSubstr("[====================]"));
}

TEST(Clock, WritesDurationsForPeople) {
  EXPECT_EQ(duration_text(0.0421), "0.042 s");
  EXPECT_EQ(duration_text(0), "0 s");
  EXPECT_EQ(duration_text(0.000085), "<0.001 s");
  EXPECT_EQ(duration_text(9.94), "9.9 s");
  EXPECT_EQ(duration_text(59.4), "59 s");
  EXPECT_EQ(duration_text(60), "1 min 0 s");
  EXPECT_EQ(duration_text(3 * 3600 + 12 * 60 + 5), "3 h 12 min");
  EXPECT_EQ(time_text(std::chrono::system_clock::time_point()), "1970-01-01T00:00:00Z");
  EXPECT_EQ(compact_time_text(std::chrono::system_clock::time_point()), "19700101-000000");
  EXPECT_EQ(rate_text(0.4219), "0.422/s");
  EXPECT_EQ(rate_text(1310.4), "1,310/s");
}

TEST_F(DisplayTest, ResultsAndMessagesGoTheirOwnWays) {
  Display display(results_, messages_, Display::Style::plain);
  display.report("recall", "Recall at K", "| K | recall |\n|---|---|\n| 1 | 0.5 |");
  display.note("going on");
  display.log(LogLevel::warning, "decode", "odd file");
  display.log(LogLevel::debug, "decode", "never shown");
  EXPECT_EQ(results_.str(), "\nRecall at K (recall)\nK  recall\n1  0.5\n");
  EXPECT_EQ(messages_.str(), "seam: going on\nwarning: decode: odd file\n");
}

TEST_F(DisplayTest, WhatSeveralStagesSayForInformationIsShownOnce) {
  Display display(results_, messages_, Display::Style::plain);
  for (const char* stage : {"queries", "gallery"}) {
    display.log(LogLevel::info, stage, "a part of the list");
    display.log(LogLevel::warning, stage, "pictures are missing");
  }
  EXPECT_EQ(messages_.str(),
            "info: queries: a part of the list\n"
            "warning: queries: pictures are missing\n"
            "warning: gallery: pictures are missing\n");
}

TEST_F(DisplayTest, PaintsTheLevel) {
  Display display(results_, messages_, Display::Style::plain, {{}, {60, true}});
  display.log(LogLevel::warning, "decode", "odd file");
  display.log(LogLevel::info, "decode", "a file");
  EXPECT_EQ(messages_.str(), "\x1b[33mwarning\x1b[0m: decode: odd file\ninfo: decode: a file\n");
  EXPECT_EQ(display.note_width(), 54U) << "after 'seam: '";
}

TEST_F(DisplayTest, QuietKeepsToWhatIsWrong) {
  for (const Display::Style style : {Display::Style::quiet, Display::Style::progress}) {
    results_.str("");
    messages_.str("");
    Display display(results_, messages_, style);
    display.report("recall", "Recall at K", "table");
    display.result("table");
    display.note("note");
    display.log(LogLevel::info, "decode", "info");
    display.log(LogLevel::error, "decode", "error");
    display.message("message");
    display.score("");
    EXPECT_EQ(results_.str(), "");
    display.score("score");
    EXPECT_EQ(results_.str(), "score\n");
    EXPECT_EQ(messages_.str(), "error: decode: error\nseam: message\n");
  }
}

TEST_F(DisplayTest, ProgressForProgramsIsALinePerObject) {
  EXPECT_EQ(progress_json(view_, 1),
            R"({"epoch":null,"epochs":null,"flow":"train","packets":0,"expected":null,)"
            R"("seconds":1.0,"metric":null,"value":null,"run_seconds_left":null})"
            "\n");
  view_.epoch = 2;
  view_.epochs = 60;
  view_.expected = 30;
  view_.run_seconds_left = 350;
  progress_.finished = 20;
  metrics_.record("triplet_loss", "loss", 0.5);
  {
    Display display(results_, messages_, Display::Style::json);
    display.flow_begins(view_);
    display.note("note");
    display.score("score");
    display.message("message");
    display.flow_ends();
    display.flow_ends();
  }
  EXPECT_THAT(results_.str(),
              AllOf(StartsWith(R"({"epoch":3,"epochs":60,"flow":"train","packets":20,)"
                               R"("expected":30,"seconds":)"),
                    HasSubstr(R"("metric":"loss","value":0.5,"run_seconds_left":)")));
  EXPECT_EQ(messages_.str(), "seam: message\n");
  EXPECT_THAT(progress_json(view_, 8), HasSubstr(R"("run_seconds_left":342.0)"));
  // At its rate so far, the flow alone takes another 400 s.
  EXPECT_THAT(progress_json(view_, 800), HasSubstr(R"("run_seconds_left":400.0)"));
}

}  // namespace seam::host::display_test
