/// The command line: `seam VERB ...`.
#pragma once

namespace seam::host {

/// Parses the command line, runs the command and reports errors; returns the exit code. Never
/// throws.
int run_command_line(int count, const char* const* arguments);

}  // namespace seam::host
