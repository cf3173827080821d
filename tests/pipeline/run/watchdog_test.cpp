#include "pipeline/run/watchdog.hpp"

#include <gtest/gtest.h>

#include <atomic>

namespace seam::host::watchdog_test {

using std::chrono::seconds;

TEST(StallClock, TellsAtTheLimitAndThenEachTimeTheWaitHasDoubled) {
  const StallClock::Time start{};
  StallClock clock(seconds(10), start);
  EXPECT_FALSE(clock.look(0, start + seconds(9)));
  EXPECT_EQ(clock.look(0, start + seconds(11)), seconds(11));
  EXPECT_FALSE(clock.look(0, start + seconds(21)));
  EXPECT_EQ(clock.look(0, start + seconds(22)), seconds(22));
  EXPECT_FALSE(clock.look(0, start + seconds(43)));
}

TEST(StallClock, BeginsAnewWhenSomethingHappens) {
  const StallClock::Time start{};
  StallClock clock(seconds(10), start);
  EXPECT_FALSE(clock.look(1, start + seconds(30)));
  EXPECT_FALSE(clock.look(1, start + seconds(39)));
  EXPECT_EQ(clock.look(1, start + seconds(40)), seconds(10));
  EXPECT_FALSE(clock.look(2, start + seconds(50)));
  EXPECT_EQ(clock.look(2, start + seconds(60)), seconds(10))
      << "the limit applies again, not its double";
}

TEST(StallText, SaysWhatEveryStageIsDoing) {
  const std::vector<StageActivity> activity{
      {.stage = "items", .kind = StageKind::source, .done = 7, .waits_for_room = true},
      {.stage = "decode",
       .kind = StageKind::parallel_transform,
       .done = 5,
       .inside = 1,
       .waiting = 1},
      {.stage = "model", .done = 5, .waiting = 1200},
      {.stage = "total", .kind = StageKind::sink, .done = 5},
  };
  EXPECT_EQ(stall_text("flow 'train' in epoch 2 of 4", 75, activity, {.packets = 2, .bytes = 100}),
            "flow 'train' in epoch 2 of 4 has made no progress for 1 min 15 s:\n"
            "  items   is waiting because [limits] packets = 2 or bytes = 100 is reached\n"
            "  decode  is processing 1 packet; 1 packet waiting\n"
            "  model   has queued packets but is not processing any; 1,200 packets waiting\n"
            "  total   is waiting for packets\n"
            "It may just need more time ([limits] stall_seconds sets when this warning appears). "
            "Ctrl-C stops the run; its last checkpoint is kept.");
}

TEST(StallText, NamesTheSourceThatDoesNotReturn) {
  const std::vector<StageActivity> activity{
      {.stage = "items", .kind = StageKind::source, .call = StageActivity::Call::produce}};
  EXPECT_NE(stall_text("flow 'a'", 60, activity, {}).find("items  is producing a packet"),
            std::string::npos);
}

TEST(Watchdog, SaysNothingWhereItIsSwitchedOff) {
  FlowProgress progress;
  std::atomic<int> said = 0;
  {
    const Watchdog watchdog("flow 'a'", progress, {.stall_seconds = 0}, [&](auto&) { ++said; });
  }
  EXPECT_EQ(said, 0);
}

}  // namespace seam::host::watchdog_test
