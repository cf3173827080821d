#include "pipeline/cli/command_parser.hpp"

#include <fmt/format.h>

#include <iostream>
#include <utility>

#include "pipeline/run/run_directory.hpp"
#include "pipeline/text/lists.hpp"
#include "pipeline/text/nearest.hpp"

namespace seam::host {
namespace {

std::vector<const CLI::App*> all_of(const CLI::App& parent) {
  return parent.get_subcommands([](const CLI::App*) { return true; });
}

}  // namespace

CommandParser::CommandParser() {
  app_.require_subcommand(1);
  app_.set_version_flag("--version", "seam " + seam_version());
  app_.set_help_flag("-h,--help", "show this help");
  app_.footer(
      "Example: seam run pipelines/demo.toml --set schedule.epochs=2\n"
      "`seam COMMAND --help` describes a command. Exit codes: 0 success, 2 configuration,\n"
      "3 data, 4 cancelled, 5 internal, 6 incomplete.");
}

CLI::App& CommandParser::add_group(const std::string& name, const std::string& doc,
                                   const std::string& example) {
  CLI::App& group = *app_.add_subcommand(name, doc);
  group.set_help_flag("-h,--help", "show this help");
  group.require_subcommand(1);
  group.footer("Example: seam " + example);
  return group;
}

CLI::App& CommandParser::add_to(CLI::App& parent, const std::string& name,
                                const std::string& example, const std::string& doc,
                                std::function<ExitCode()> verb) {
  CLI::App& added = *parent.add_subcommand(name, doc);
  added.set_help_flag("-h,--help", "show this help");
  added.footer("Example: seam " + example);
  added.callback([this, verb = std::move(verb)] { chosen_ = verb; });
  return added;
}

void CommandParser::add_choice(CLI::App& verb, const std::string& name, std::string& value,
                               const std::vector<std::string>& choices, const std::string& doc) {
  CLI::Option* option = verb.add_option(name, value, doc)
                            ->type_name(fmt::format("{}", fmt::join(choices, "|")))
                            ->check(CLI::IsMember(choices).description(""))
                            ->capture_default_str();
  choices_[option] = choices;
}

ProgramHelp CommandParser::help() const {
  ProgramHelp help{app_.get_description(), {}};
  for (const CLI::App* verb : all_of(app_)) {
    const std::vector<const CLI::App*> parts = all_of(*verb);
    if (parts.empty()) help.verbs.push_back(help_of(*verb, verb->get_name()));
    for (const CLI::App* part : parts) {
      help.verbs.push_back(help_of(*part, verb->get_name() + " " + part->get_name()));
    }
  }
  return help;
}

ExitCode CommandParser::go(int count, const char* const* arguments) {
  if (count > 1 && !known(arguments[1])) return unknown_verb(arguments[1]);
  try {
    app_.parse(count, arguments);
  } catch (const CLI::Success& asked) {  // the parser throws on --help and --version
    app_.exit(asked);
    return ExitCode::success;
  } catch (const CLI::ParseError& error) {
    const std::string verb = chosen_name();
    std::cerr << "seam: error: " << error.what() << "\ntry: seam " << verb
              << (verb.empty() ? "" : " ") << "--help" << std::endl;
    return ExitCode::configuration;
  }
  return chosen_();
}

VerbHelp CommandParser::help_of(const CLI::App& verb, const std::string& name) const {
  const std::string example = "Example: seam " + name + " ";
  const std::string footer = verb.get_footer();
  VerbHelp help{name,
                verb.get_description(),
                footer.starts_with(example) ? footer.substr(example.size()) : std::string(),
                {}};
  for (const CLI::Option* option : verb.get_options()) {
    if (option == verb.get_help_ptr()) continue;
    const bool flag = option->get_items_expected_max() == 0;
    const auto choices = choices_.find(option);
    help.options.push_back(
        {option->get_positional() ? option->get_name(true) : "--" + option->get_lnames().front(),
         flag ? std::string() : option->get_type_name(), option->get_description(),
         choices == choices_.end() ? std::vector<std::string>{} : choices->second});
  }
  return help;
}

std::vector<std::string> CommandParser::names() const {
  return mapped(all_of(app_), [](const CLI::App* verb) { return verb->get_name(); });
}

bool CommandParser::known(const std::string& first) const {
  return first.starts_with("-") || contains(names(), first);
}

std::string CommandParser::chosen_name() const {
  std::string name;
  for (auto chosen = app_.get_subcommands(); !chosen.empty();
       chosen = chosen.front()->get_subcommands()) {
    name += (name.empty() ? "" : " ") + chosen.front()->get_name();
  }
  return name;
}

ExitCode CommandParser::unknown_verb(const std::string& verb) const {
  std::cerr << "seam: error: unknown command '" << verb << "'" << suggestion(verb, names())
            << "\ncommands: " << enumerated(names()) << std::endl;
  return ExitCode::configuration;
}

}  // namespace seam::host
