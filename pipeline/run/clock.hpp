/// Wall-clock times and durations as text.
#pragma once

#include <chrono>
#include <string>

namespace seam::host {

/// "2026-03-01T09:30:00Z", in UTC.
std::string time_text(std::chrono::system_clock::time_point time);
/// "20260301-093000", in UTC, for folder names.
std::string compact_time_text(std::chrono::system_clock::time_point time);
/// "0.42 s", "38 s", "12 min 5 s", "3 h 12 min".
std::string duration_text(double seconds);
/// "1,310/s", "0.42/s".
std::string rate_text(double per_second);

}  // namespace seam::host
