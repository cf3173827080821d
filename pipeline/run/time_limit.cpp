#include "pipeline/run/time_limit.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <system_error>

namespace seam::host {

std::optional<std::chrono::seconds> duration_of(std::string_view text) {
  struct Unit {
    char letter;
    std::int64_t seconds;
  };
  constexpr std::array<Unit, 3> units{{{'h', 3600}, {'m', 60}, {'s', 1}}};
  constexpr std::int64_t longest = 1'000'000;  // of each unit
  std::int64_t total = 0;
  for (const Unit& unit : units) {
    std::int64_t number = 0;
    const char* const last = text.data() + text.size();
    // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): from_chars() is given the end
    const auto [end, error] = std::from_chars(text.data(), last, number);
    if (error != std::errc() || end == last || *end != unit.letter) continue;
    if (number < 0 || number > longest) return std::nullopt;
    total += number * unit.seconds;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  }
  if (!text.empty() || total == 0) return std::nullopt;
  return std::chrono::seconds(total);
}

}  // namespace seam::host
