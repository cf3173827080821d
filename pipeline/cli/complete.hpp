/// Completion: the candidates at the cursor when the user presses Tab.
#pragma once

#include <string>
#include <vector>

#include "pipeline/cli/help.hpp"

namespace seam::host {

/// Candidates that the shell must replace with file or folder names.
inline constexpr const char* complete_files = ":files";
inline constexpr const char* complete_folders = ":folders";

/// Returns the candidates for the last of `words`, the one being typed. `words` does not include
/// the program's name. `stages`: the stage types that plugins provide.
std::vector<std::string> completions(const ProgramHelp& help, const std::vector<std::string>& words,
                                     const std::vector<std::string>& stages);

}  // namespace seam::host
