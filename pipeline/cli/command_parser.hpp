/// Reads a command line `seam VERB ...`: the verbs that are added to it, their options, help and
/// errors. What the options mean is arguments.cpp's.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "pipeline/cli/help.hpp"
#include "pipeline/run/exit_code.hpp"

namespace seam::host {

class CommandParser {
 public:
  CommandParser();

  /// A verb, to which its options are added. `example`: what stands behind its name.
  CLI::App& add(const std::string& name, const std::string& doc, const std::string& example,
                std::function<ExitCode()> verb);
  /// A verb with verbs of its own, such as `seam new`. `example`: what stands behind the program's
  /// name.
  CLI::App& add_group(const std::string& name, const std::string& doc, const std::string& example);
  CLI::App& add_to(CLI::App& parent, const std::string& name, const std::string& example,
                   const std::string& doc, std::function<ExitCode()> verb);
  /// An option that takes one of these words.
  void add_choice(CLI::App& verb, const std::string& name, std::string& value,
                  const std::vector<std::string>& choices, const std::string& doc);

  /// All of it, for manual pages and completion.
  [[nodiscard]] ProgramHelp help() const;
  /// Parses and does what is asked.
  ExitCode go(int count, const char* const* arguments);

 private:
  [[nodiscard]] VerbHelp help_of(const CLI::App& verb, const std::string& name) const;
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] bool known(const std::string& first) const;
  [[nodiscard]] std::string chosen_name() const;
  [[nodiscard]] ExitCode unknown_verb(const std::string& verb) const;

  CLI::App app_{"Image retrieval as dataflow pipelines of plugin stages", "seam"};
  std::function<ExitCode()> chosen_;
  std::map<const CLI::Option*, std::vector<std::string>> choices_;
};

}  // namespace seam::host
