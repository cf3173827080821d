#include "pipeline/graph/stage_clock.hpp"

#include <fstream>
#include <string>

namespace seam::host {
namespace {

bool linux_keeps_time_by_the_counter() {
  std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string source;
  return file >> source && source == "tsc";
}

}  // namespace

StageClock::StageClock(Kind kind)
    : counter_(kind == Kind::cheapest && linux_keeps_time_by_the_counter()),
      first_tick_(now()),
      first_nanosecond_(system_now()) {}

double StageClock::seconds_a_tick() const {
  const std::int64_t ticks = now() - first_tick_;
  const std::int64_t nanoseconds = system_now() - first_nanosecond_;
  if (!counter_ || ticks <= 0) return 1e-9;
  return static_cast<double>(nanoseconds) * 1e-9 / static_cast<double>(ticks);
}

}  // namespace seam::host
