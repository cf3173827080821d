#include "pipeline/run/clock.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include "pipeline/text/count.hpp"

namespace seam::host {

using std::chrono::system_clock;

std::string time_text(system_clock::time_point time) {
  return fmt::format("{:%FT%TZ}", fmt::gmtime(system_clock::to_time_t(time)));
}

std::string compact_time_text(system_clock::time_point time) {
  return fmt::format("{:%Y%m%d-%H%M%S}", fmt::gmtime(system_clock::to_time_t(time)));
}

std::string duration_text(double seconds) {
  if (!(seconds >= 0)) return "?";
  constexpr double least = 0.001;
  if (seconds > 0 && seconds < least) return "<0.001 s";
  if (seconds < 9.95) return fmt::format("{:.2g} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::string rate_text(double per_second) {
  constexpr double whole_numbers = 100;
  if (per_second < whole_numbers) return fmt::format("{:.3g}/s", per_second);
  return count_text(static_cast<std::uint64_t>(std::llround(per_second))) + "/s";
}

}  // namespace seam::host
