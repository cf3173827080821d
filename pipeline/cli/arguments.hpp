/// The command line: `seam VERB ...`.
#pragma once

namespace seam::host {

/// Parses, does what is asked, reports errors; returns the program's exit code. Never throws.
int run_command_line(int count, const char* const* arguments);

}  // namespace seam::host
