/// Parses the time limit of a run on the command line; StopSignals enforces it.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace seam::host {

/// "3h", "90m", "45s" or "1h30m": whole numbers, the larger unit first; at least a second.
[[nodiscard]] std::optional<std::chrono::seconds> duration_of(std::string_view text);

}  // namespace seam::host
