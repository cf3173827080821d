#include <algorithm>
#include <filesystem>
#include <string>

#include "pipeline/cli/verbs.hpp"
#include "pipeline/run/files.hpp"
#include "pipeline/run/run_directory.hpp"

namespace seam::host {
namespace {

namespace fs = std::filesystem;

/// Escapes a text for roff.
std::string roff(const std::string& text) {
  std::string written;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) written += "\\&";  // else it is a roff request
    if (c == '\\') {
      written += "\\e";
    } else if (c == '-') {
      written += "\\-";
    } else {
      written += c;
    }
    line_begins = c == '\n';
  }
  return written;
}

std::string bold(const std::string& text) {
  return "\\fB" + roff(text) + "\\fR";
}

std::string italic(const std::string& text) {
  return "\\fI" + roff(text) + "\\fR";
}

std::string with_hyphens(std::string name) {
  std::ranges::replace(name, ' ', '-');
  return name;
}

std::string head(const std::string& page, const std::string& doc) {
  return ".TH " + page + " 1 \"\" \"seam " + seam_version() + "\" \"Seam\"\n.SH NAME\n" +
         roff(page) + " \\- " + roff(doc) + "\n";
}

std::string synopsis(const VerbHelp& verb) {
  std::string text = bold("seam " + verb.name);
  for (const OptionHelp& option : verb.options) {
    text += option.positional()
                ? " " + italic(option.value)
                : " [" + bold(option.name) +
                      (option.value.empty() ? "" : " " + italic(option.value)) + "]";
  }
  return text + "\n";
}

std::string page_of(const VerbHelp& verb) {
  std::string page = head("seam-" + with_hyphens(verb.name), verb.doc);
  page += ".SH SYNOPSIS\n" + synopsis(verb) + ".SH OPTIONS\n";
  for (const OptionHelp& option : verb.options) {
    page += ".TP\n" + (option.positional() ? italic(option.value) : bold(option.name));
    if (!option.positional() && !option.value.empty()) page += " " + italic(option.value);
    page += "\n" + roff(option.doc) + "\n";
  }
  page += ".TP\n" + bold("--help") + "\nShow a summary of the options.\n";
  page += ".SH EXAMPLE\n.EX\n" + roff("seam " + verb.name + " " + verb.example) + "\n.EE\n";
  return page + ".SH SEE ALSO\n" + bold("seam") + "(1)\n";
}

std::string overview(const ProgramHelp& help) {
  std::string page = head("seam", help.doc);
  page += ".SH SYNOPSIS\n" + bold("seam") + " " + italic("COMMAND") + " ...\n.SH COMMANDS\n";
  for (const VerbHelp& verb : help.verbs) {
    page += ".TP\n" + bold("seam " + verb.name) + "\n" + roff(verb.doc) + "\n";
  }
  const auto entry = [](const std::string& name, const std::string& text) {
    return ".TP\n" + bold(name) + "\n" + roff(text) + "\n";
  };
  page += ".SH EXIT STATUS\n";
  page += entry("0", "Success.") +
          entry("2", "An error in the pipeline file, the command line or a plugin.") +
          entry("3", "An error in the data: images, lists or files.") +
          entry("4", "Stopped by a signal; resume a run with seam run --resume.") +
          entry("5", "A bug in a stage or in Seam.") +
          entry("6", "The ledger does not balance: packets were lost. Do not trust the results.");
  page += ".SH ENVIRONMENT\n";
  page +=
      entry("SEAM_PLUGIN_PATH",
            "Plugins and folders of plugins, separated by colons, searched before Seam's own.") +
      entry("XDG_CACHE_HOME",
            "Stage descriptions are cached in the subfolder seam, or in ~/.cache/seam if it is not "
            "set.");
  page += ".SH FILES\n";
  page += entry("runs/NAME-DATE-TIME-N",
                "The files of a run: resolved.toml, metrics.jsonl, score.json, run.log, "
                "summary.json, checkpoints/, reports/.") +
          entry("runs/NAME-sweep-DATE-TIME-N",
                "The files of a sweep: sweep.json, and one folder per run.");
  page += ".SH SEE ALSO\n";
  for (std::size_t at = 0; at < help.verbs.size(); ++at) {
    page += bold("seam-" + with_hyphens(help.verbs[at].name)) + "(1)" +
            (at + 1 < help.verbs.size() ? ",\n" : "\n");
  }
  return page;
}

}  // namespace

ExitCode manual_verb(const ProgramHelp& help, const std::string& folder) {
  fs::create_directories(folder);
  write_whole_file(fs::path(folder) / "seam.1", overview(help));
  for (const VerbHelp& verb : help.verbs) {
    write_whole_file(fs::path(folder) / ("seam-" + with_hyphens(verb.name) + ".1"), page_of(verb));
  }
  return ExitCode::success;
}

}  // namespace seam::host
