#include <algorithm>
#include <filesystem>
#include <iostream>

#include "pipeline/cli/verbs.hpp"
#include "pipeline/config/load.hpp"
#include "pipeline/config/sweep.hpp"
#include "pipeline/plugins/registry.hpp"
#include "pipeline/text/lists.hpp"
#include "pipeline/text/parse.hpp"

namespace seam::host {
namespace {

// Candidates that the shell must replace with file or folder names.
constexpr const char* complete_files = ":files";
constexpr const char* complete_folders = ":folders";

/// Words that may follow `before` to name a verb: "plugin" and "pipeline" after "new".
std::vector<std::string> next_words(const ProgramHelp& help,
                                    const std::vector<std::string>& before) {
  std::vector<std::string> next;
  for (const VerbHelp& verb : help.verbs) {
    const std::vector<std::string_view> words = split(verb.name, ' ');
    const bool goes_on =
        words.size() > before.size() && std::equal(before.begin(), before.end(), words.begin());
    if (goes_on && !contains(next, words[before.size()])) next.emplace_back(words[before.size()]);
  }
  return next;
}

const VerbHelp* verb_of(const ProgramHelp& help, const std::vector<std::string>& before) {
  for (const VerbHelp& verb : help.verbs) {
    const std::vector<std::string_view> words = split(verb.name, ' ');
    if (words.size() <= before.size() && std::equal(words.begin(), words.end(), before.begin())) {
      return &verb;
    }
  }
  return nullptr;
}

/// The variants of the pipeline files that the words name.
std::vector<std::string> variants_in(const std::vector<std::string>& words) {
  std::vector<std::string> variants;
  for (const std::string& word : words) {
    if (!word.ends_with(".toml") || !std::filesystem::is_regular_file(word)) continue;
    for (std::string& name : load_sweep(word, {}, process_environment()).variants.variants) {
      variants.push_back(std::move(name));
    }
  }
  return variants;
}

std::vector<std::string> values_of(const OptionHelp& option, const std::vector<std::string>& stages,
                                   const std::vector<std::string>& before) {
  if (option.value == variant_name) return variants_in(before);
  if (!option.choices.empty()) return option.choices;
  if (option.value == file_and_stage) return stages;
  if (option.value == "DEVICE") return {"cpu", "cuda", "auto"};  // and cuda:1, ...
  if (option.value == "FILE" || option.value == "PATH") return {complete_files};
  if (option.value == "DIR") return {complete_folders};
  return {};
}

bool none_begins_with(const std::string& text, const std::vector<std::string>& candidates) {
  return std::ranges::none_of(
      candidates, [&](const std::string& candidate) { return candidate.starts_with(text); });
}

/// Returns the candidates for the last of `words`, the one being typed. `words` does not include
/// the program's name. `stages`: the stage types that plugins provide.
std::vector<std::string> completions(const ProgramHelp& help, const std::vector<std::string>& words,
                                     const std::vector<std::string>& stages) {
  const std::string current = words.empty() ? std::string() : words.back();
  const std::vector<std::string> before(words.begin(),
                                        words.empty() ? words.end() : words.end() - 1);
  const VerbHelp* verb = verb_of(help, before);
  std::vector<std::string> candidates;
  if (verb == nullptr) {
    candidates = next_words(help, before);
    if (before.empty()) candidates.insert(candidates.end(), {"--help", "--version"});
  } else if (const OptionHelp* option = find_in(verb->options, before.back(), &OptionHelp::name);
             option != nullptr && !option->positional() && !option->value.empty()) {
    candidates = values_of(*option, stages, before);
  } else if (current.starts_with("-")) {
    for (const OptionHelp& each : verb->options) {
      if (!each.positional()) candidates.push_back(each.name);
    }
    candidates.emplace_back("--help");
  } else {
    for (const OptionHelp& each : verb->options) {
      if (!each.positional()) continue;
      candidates = values_of(each, stages, before);
      // If no stage name begins with this word, complete a file name.
      if (each.value == file_and_stage && none_begins_with(current, candidates)) {
        candidates = {complete_files};
      }
    }
  }
  std::erase_if(candidates, [&](const std::string& candidate) {
    return !candidate.starts_with(current) && !candidate.starts_with(":");
  });
  return candidates;
}

}  // namespace

ExitCode complete_verb(const ProgramHelp& help, const std::vector<std::string>& words) {
  // No plugin is loaded: the manifests contain the stage names.
  const Registry registry(default_search_path({}, {}), 1);
  for (const std::string& candidate : completions(help, words, registry.stage_names())) {
    std::cout << candidate << "\n";
  }
  std::cout.flush();
  return ExitCode::success;
}

}  // namespace seam::host
