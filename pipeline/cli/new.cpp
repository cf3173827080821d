#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "pipeline/cli/report.hpp"
#include "pipeline/cli/verbs.hpp"
#include "pipeline/run/files.hpp"
#include "pipeline/run/run_directory.hpp"

namespace seam::host {
namespace {

namespace fs = std::filesystem;
using Replacements = std::vector<std::pair<std::string, std::string>>;

Error refuse(const std::string& message) {
  return Error(message, Fault::configuration);
}

/// bin/seam is what runs, share/seam/template what it copies, built or installed.
fs::path own_prefix() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path() : program.parent_path().parent_path();
}

fs::path template_folder() {
  const fs::path folder = own_prefix() / "share/seam/template";
  if (!fs::is_directory(folder)) {
    throw refuse("the templates are not where this program was installed: there is no folder '" +
                 folder.string() + "'; install Seam again");
  }
  return folder;
}

bool is_word(std::string_view text) {
  return !text.empty() && text.front() >= 'a' && text.front() <= 'z' &&
         std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
         });
}

/// "unsharp_mask" to "UnsharpMask".
std::string class_name(std::string_view word) {
  std::string name;
  bool upper = true;
  for (const char c : word) {
    if (c == '_') {
      upper = true;
    } else {
      name += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
      upper = false;
    }
  }
  return name;
}

/// A template names what its copy will call otherwise, so that it compiles as it stands.
std::string replaced(std::string text, const Replacements& replacements) {
  for (const auto& [from, to] : replacements) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
      text.replace(at, from.size(), to);
      at += to.size();
    }
  }
  return text;
}

std::string text_of(const fs::path& file) {
  const std::vector<std::byte> bytes = read_file(file);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void copy_folder(const fs::path& from, const fs::path& to, const Replacements& replacements) {
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(from)) {
    const fs::path relative = fs::relative(entry.path(), from);
    const fs::path target = to / replaced(relative.string(), replacements);
    if (entry.is_directory()) {
      fs::create_directories(target);
      continue;
    }
    fs::create_directories(target.parent_path());
    write_whole_file(target, replaced(text_of(entry.path()), replacements));
  }
}

void expect_nothing_at(const fs::path& path) {
  std::error_code error;
  if (fs::exists(path, error)) {
    throw refuse("'" + path.string() + "' is there already, and nothing of yours is overwritten; " +
                 "choose another name, or another place by --output");
  }
}

bool system_prefix(const fs::path& prefix) {
  return prefix.empty() || prefix == "/usr" || prefix == "/usr/local";
}

}  // namespace

ExitCode new_plugin_verb(const NewPluginArguments& arguments) {
  const std::size_t dot = arguments.name.find('.');
  const std::string family = dot == std::string::npos ? "" : arguments.name.substr(0, dot);
  const std::string word =
      dot == std::string::npos ? arguments.name : arguments.name.substr(dot + 1);
  if (!is_word(word) || (dot != std::string::npos && !is_word(family))) {
    throw refuse(
        "'" + arguments.name + "' cannot be the name of a stage: write it in lower case, " +
        "digits and underscores, with a family before a full stop where there is one, such " +
        "as unsharp_mask or acme.unsharp_mask");
  }
  const fs::path folder = arguments.output.empty() ? fs::path(word) : fs::path(arguments.output);
  expect_nothing_at(folder);
  const fs::path templates = template_folder() / "plugin";
  const std::string version = seam_version();
  Replacements replacements{
      {"template_plugin", word},
      {"template_stage_test", word + "_test"},
      {"template_stage", word},
      {"TemplateStage", class_name(word)},
      {"template.stage", arguments.name},
      {"find_package(Seam 0.1", "find_package(Seam " + version.substr(0, version.rfind('.'))}};
  if (arguments.tensor) {
    replacements.emplace_back(" REQUIRED)\n\n# More", " REQUIRED COMPONENTS tensor)\n\n# More");
    replacements.emplace_back("seam_add_plugin(" + word + " ",
                              "seam_add_plugin(" + word + " TENSOR ");
    replacements.emplace_back("PRIVATE Seam::sdk", "PRIVATE Seam::tensor");
  }
  copy_folder(templates / "project", folder, replacements);
  copy_folder(templates / (arguments.kind + (arguments.tensor ? "_tensor" : "")), folder,
              replacements);

  const fs::path prefix = own_prefix();
  const std::string where =
      system_prefix(prefix) ? std::string() : " -DCMAKE_PREFIX_PATH=" + prefix.string();
  std::cout << "made " << folder.string() << "/ with the stage '" << arguments.name << "'. Next:\n"
            << "  cd " << folder.string() << "\n"
            << "  cmake -B build" << where << " && cmake --build build\n"
            << "  ctest --test-dir build --output-on-failure\n"
            << "  SEAM_PLUGIN_PATH=build/lib/seam/plugins seam run pipeline.toml\n"
            << "README.md says what each file is." << std::endl;
  return ExitCode::success;
}

ExitCode new_pipeline_verb(const NewPipelineArguments& arguments) {
  fs::path file = arguments.name;
  if (file.extension() != ".toml") file += ".toml";
  const std::string word = file.stem().string();
  if (!is_word(word)) {
    throw refuse("'" + word + "' cannot be the name of a pipeline here: write it in lower case, " +
                 "digits and underscores");
  }
  expect_nothing_at(file);
  const fs::path schema = file.parent_path() / "seam.schema.json";
  std::error_code error;
  const bool schema_there = fs::exists(schema, error);
  if (!schema_there) write_whole_file(schema, schema_text({}));
  write_whole_file(
      file, replaced(text_of(template_folder() / "pipeline.toml"), {{"template_pipeline", word}}));
  std::cout << "made " << file.string() << (schema_there ? "" : " and " + schema.string())
            << ". Next:\n"
            << "  seam check " << file.string() << "\n"
            << "  seam run " << file.string() << std::endl;
  return ExitCode::success;
}

}  // namespace seam::host
