/// `seam doctor --crash FILE`: the source lines of a crash's frames, as addr2line finds them.
#pragma once

#include <filesystem>
#include <string>

#include "pipeline/run/crash_report.hpp"

namespace seam::host {

/// Returns the crash with one line per frame, and why frames have no source line. `reported`: the
/// file with the report; libraries that were changed later are named. Throws seam::Error
/// (configuration) if addr2line cannot be started.
[[nodiscard]] std::string crash_text(const Crash& crash, const std::filesystem::path& reported);

}  // namespace seam::host
