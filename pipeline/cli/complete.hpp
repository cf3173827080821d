/// What may stand where somebody presses the tabulator key.
#pragma once

#include <string>
#include <vector>

#include "pipeline/cli/help.hpp"

namespace seam::host {

/// Lines that a shell must replace by names of its own file system.
inline constexpr const char* complete_files = ":files";
inline constexpr const char* complete_folders = ":folders";

/// The words that may stand for the last of `words`, which is being written; the program's name is
/// not among them. `stages` are the stage types that plugins offer.
std::vector<std::string> completions(const ProgramHelp& help, const std::vector<std::string>& words,
                                     const std::vector<std::string>& stages);

}  // namespace seam::host
