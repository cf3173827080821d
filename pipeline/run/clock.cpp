#include "pipeline/run/clock.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <ctime>

#include "pipeline/text/count.hpp"

namespace seam::host {
namespace {

std::string utc(std::chrono::system_clock::time_point time, const char* format) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

}  // namespace

std::string time_text(std::chrono::system_clock::time_point time) {
  return utc(time, "%FT%TZ");
}

std::string compact_time_text(std::chrono::system_clock::time_point time) {
  return utc(time, "%Y%m%d-%H%M%S");
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
