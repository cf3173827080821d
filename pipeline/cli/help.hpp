/// The command line's verbs and options, independent of the library that parses it.
///
///     arguments.cpp ──► ProgramHelp ──► manual pages (manual.cpp)
///                                  └──► completion   (complete.cpp)
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace seam::host {

/// The value of a positional argument that is a stage's type, or a file and a stage in it.
inline constexpr std::string_view file_and_stage = "[FILE] STAGE";

/// The value of an option that takes variants of the pipeline file.
inline constexpr std::string_view variant_name = "VARIANT";

struct OptionHelp {
  std::string name;   ///< "--set", or the name of a positional argument
  std::string value;  ///< "FILE", "KEY=VALUE"; empty: it takes none
  std::string doc;
  std::vector<std::string> choices;  ///< the allowed values; empty: any

  [[nodiscard]] bool positional() const { return !name.starts_with("-"); }
};

struct VerbHelp {
  std::string name;  ///< "run", "new plugin"
  std::string doc;
  std::string example;  ///< the arguments after `seam NAME`
  std::vector<OptionHelp> options;
};

struct ProgramHelp {
  std::string doc;
  std::vector<VerbHelp> verbs;
};

}  // namespace seam::host
