/// Parses command lines `seam VERB ...`: verbs, options, help and errors. arguments.cpp defines the
/// meaning of the options.
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

  /// Adds a verb; the caller adds its options. `example`: the arguments after its name.
  CLI::App& add(const std::string& name, const std::string& doc, const std::string& example,
                std::function<ExitCode()> verb);
  /// Adds a verb with subcommands, such as `seam new`. `example`: the arguments after "seam".
  CLI::App& add_group(const std::string& name, const std::string& doc, const std::string& example);
  CLI::App& add_to(CLI::App& parent, const std::string& name, const std::string& example,
                   const std::string& doc, std::function<ExitCode()> verb);
  /// Adds an option that takes one of these words.
  void add_choice(CLI::App& verb, const std::string& name, std::string& value,
                  const std::vector<std::string>& choices, const std::string& doc);

  /// All verbs and options, for manual pages and completion.
  [[nodiscard]] ProgramHelp help() const;
  /// Parses the command line and runs the verb.
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
