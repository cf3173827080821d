#include "pipeline/run/display.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "pipeline/run/clock.hpp"

namespace seam::host {
namespace display_test {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ProgressLine, TellsWhatIsKnown) {
  FlowProgress progress;
  Metrics metrics;
  FlowView view;
  view.flow = "train";
  view.progress = &progress;
  view.metrics = &metrics;
  EXPECT_EQ(progress_line(view, 0), "train  0 packets");
  view.epoch = 2;
  view.epochs = 60;
  progress.finished = 12'400;
  view.expected = 25'882;
  metrics.record("triplet_loss", "loss", 0.12345);
  view.run_seconds_left = 350;
  EXPECT_EQ(progress_line(view, 100),
            "epoch 3/60  train  12,400/25,882 packets  124/s  loss 0.1235  "
            "flow ends in 1 min 49 s  run ends in 4 min 10 s");
  progress.finished = 26'000;  // more than last time
  EXPECT_THAT(progress_line(view, 400), HasSubstr("26,000/26,000"));
  EXPECT_THAT(progress_line(view, 400), HasSubstr("run ends in 0 s"));
}

TEST(ProgressLine, FitsTheTerminal) {
  FlowProgress progress;
  Metrics metrics;
  FlowView view;
  view.flow = "train";
  view.progress = &progress;
  view.metrics = &metrics;
  view.epoch = 2;
  view.epochs = 60;
  progress.finished = 2'500;
  view.expected = 10'000;
  view.run_seconds_left = 350;
  metrics.record("triplet_loss", "loss", 0.12345);
  EXPECT_EQ(progress_line(view, 10, {200, false}),
            "epoch 3/60  train  [====>               ]  2,500/10,000 packets  250/s  loss 0.1235  "
            "flow ends in 30 s  run ends in 5 min 40 s");
  EXPECT_EQ(progress_line(view, 10, {80, false}),
            "epoch 3/60  train  2,500/10,000 packets  loss 0.1235  run ends in 5 min 40 s");
  EXPECT_EQ(progress_line(view, 10, {10, false}), "epoch 3/6");
  EXPECT_THAT(progress_line(view, 10, {200, true}), HasSubstr("[\x1b[36m====>\x1b[0m  "));
  progress.finished = 11'000;  // more than last time
  EXPECT_THAT(progress_line(view, 10, {200, false}), HasSubstr("[====================]"));
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
  EXPECT_EQ(rate_text(0.4219), "0.422/s");
  EXPECT_EQ(rate_text(1310.4), "1,310/s");
}

TEST(Display, ResultsAndMessagesGoTheirOwnWays) {
  std::ostringstream results;
  std::ostringstream messages;
  Display display(results, messages, Display::Style::plain);
  display.report("recall", "Recall at K", "| K | recall |\n|---|---|\n| 1 | 0.5 |");
  display.note("going on");
  display.log(LogLevel::warning, "decode", "odd file");
  display.log(LogLevel::debug, "decode", "never shown");
  EXPECT_EQ(results.str(), "\nRecall at K (recall)\nK  recall\n1  0.5\n");
  EXPECT_EQ(messages.str(), "seam: going on\nwarning: decode: odd file\n");
}

TEST(Display, WhatSeveralStagesSayForInformationIsShownOnce) {
  std::ostringstream results;
  std::ostringstream messages;
  Display display(results, messages, Display::Style::plain);
  for (const char* stage : {"queries", "gallery"}) {
    display.log(LogLevel::info, stage, "a part of the list");
    display.log(LogLevel::warning, stage, "pictures are missing");
  }
  EXPECT_EQ(messages.str(),
            "info: queries: a part of the list\n"
            "warning: queries: pictures are missing\n"
            "warning: gallery: pictures are missing\n");
}

TEST(Display, PaintsTheLevel) {
  std::ostringstream results;
  std::ostringstream messages;
  Display display(results, messages, Display::Style::plain, {{}, {60, true}});
  display.log(LogLevel::warning, "decode", "odd file");
  display.log(LogLevel::info, "decode", "a file");
  EXPECT_EQ(messages.str(), "\x1b[33mwarning\x1b[0m: decode: odd file\ninfo: decode: a file\n");
  EXPECT_EQ(display.note_width(), 54U) << "after 'seam: '";
}

TEST(Display, QuietKeepsToWhatIsWrong) {
  std::ostringstream results;
  std::ostringstream messages;
  Display display(results, messages, Display::Style::quiet);
  display.report("recall", "Recall at K", "table");
  display.result("table");
  display.note("note");
  display.log(LogLevel::info, "decode", "info");
  display.log(LogLevel::error, "decode", "error");
  display.message("message");
  EXPECT_EQ(results.str(), "");
  display.score("");
  EXPECT_EQ(results.str(), "");
  display.score("score");
  EXPECT_EQ(results.str(), "score\n");
  EXPECT_EQ(messages.str(), "error: decode: error\nseam: message\n");
}

TEST(Display, ProgressForProgramsIsALinePerObject) {
  FlowProgress progress;
  Metrics metrics;
  FlowView view;
  view.flow = "train";
  view.progress = &progress;
  view.metrics = &metrics;
  EXPECT_EQ(progress_json(view, 1),
            R"({"epoch":null,"epochs":null,"flow":"train","packets":0,"expected":null,)"
            R"("seconds":1.0,"metric":null,"value":null,"run_seconds_left":null})"
            "\n");
  view.epoch = 2;
  view.epochs = 60;
  view.expected = 30;
  view.run_seconds_left = 350;
  progress.finished = 20;
  metrics.record("triplet_loss", "loss", 0.5);
  std::ostringstream results;
  std::ostringstream messages;
  {
    Display display(results, messages, Display::Style::json);
    display.flow_begins(view);
    display.note("note");
    display.score("score");
    display.message("message");
    display.flow_ends();
    display.flow_ends();
  }
  EXPECT_THAT(results.str(),
              AllOf(StartsWith(R"({"epoch":3,"epochs":60,"flow":"train","packets":20,)"
                               R"("expected":30,"seconds":)"),
                    EndsWith(R"("metric":"loss","value":0.5,"run_seconds_left":350.0})"
                             "\n")));
  EXPECT_EQ(messages.str(), "seam: message\n");
}

TEST(Display, QuietOnATerminalHasNoNotes) {
  std::ostringstream results;
  std::ostringstream messages;
  Display display(results, messages, Display::Style::progress);
  display.note("note");
  display.result("table");
  display.score("score");
  EXPECT_EQ(results.str(), "score\n");
  EXPECT_EQ(messages.str(), "");
}

}  // namespace display_test
}  // namespace seam::host
