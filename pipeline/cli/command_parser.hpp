/// Parses command lines `seam VERB ...`: verbs, options, help and errors. arguments.cpp defines the
/// meaning of the options.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/cli/help.hpp"
#include "pipeline/run/exit_code.hpp"

namespace seam::host {

/// The options of a verb, and the arguments that they set.
template <class Arguments>
struct Verb {
  CLI::App& options;
  Arguments& arguments;
};

class CommandParser {
 public:
  CommandParser();

  /// Adds a verb; the caller adds its options. `example`: the arguments after its name.
  template <class Arguments, class Run>
  Verb<Arguments> add(const std::string& name, const std::string& doc, const std::string& example,
                      Run run) {
    return add_to<Arguments>(app_, name, example.empty() ? name : name + " " + example, doc, run);
  }
  /// Adds a verb with subcommands, such as `seam new`. `example`: the arguments after "seam".
  CLI::App& add_group(const std::string& name, const std::string& doc, const std::string& example);
  template <class Arguments, class Run>
  Verb<Arguments> add_to(CLI::App& parent, const std::string& name, const std::string& example,
                         const std::string& doc, Run run) {
    const auto arguments = std::make_shared<Arguments>();
    return {add_to(parent, name, example, doc, [arguments, run] { return run(*arguments); }),
            *arguments};
  }
  /// Adds an option that takes one of these words.
  void add_choice(CLI::App& verb, const std::string& name, std::string& value,
                  const std::vector<std::string>& choices, const std::string& doc);

  /// All verbs and options, for manual pages and completion.
  [[nodiscard]] ProgramHelp help() const;
  /// Parses the command line and runs the verb.
  ExitCode go(int count, const char* const* arguments);

 private:
  CLI::App& add_to(CLI::App& parent, const std::string& name, const std::string& example,
                   const std::string& doc, std::function<ExitCode()> verb);
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
