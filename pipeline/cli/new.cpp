#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "pipeline/cli/loading.hpp"
#include "pipeline/cli/own_table.hpp"
#include "pipeline/cli/verbs.hpp"
#include "pipeline/plugins/registry.hpp"
#include "pipeline/run/files.hpp"
#include "pipeline/run/run_directory.hpp"
#include "seam/declaration.hpp"

namespace seam::host {
namespace {

namespace fs = std::filesystem;
using Replacements = std::vector<std::pair<std::string, std::string>>;

Error refuse(const std::string& message) {
  return Error(message, Fault::configuration);
}

fs::path template_folder() {
  fs::path folder = own_prefix() / "share/seam/template";
  if (!fs::is_directory(folder)) {
    throw refuse("the templates are missing: there is no folder '" + folder.string() +
                 "'; reinstall Seam");
  }
  return folder;
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

/// Replaces the names that a template uses: these make it compile without changes. One pass:
/// inserted text is not searched again. If two match at the same position, the first in the list is
/// used.
std::string replaced(const std::string& text, const Replacements& replacements) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const auto found = std::ranges::find_if(replacements, [&](const auto& replacement) {
      return text.compare(at, replacement.first.size(), replacement.first) == 0;
    });
    if (found == replacements.end()) {
      result += text[at++];
    } else {
      result += found->second;
      at += found->first.size();
    }
  }
  return result;
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
    write_whole_file(target, replaced(read_text_file(entry.path()), replacements));
  }
}

void expect_nothing_at(const fs::path& path) {
  std::error_code error;
  if (fs::exists(path, error)) {
    throw refuse("'" + path.string() + "' already exists and is not overwritten; " +
                 "choose another name");
  }
}

/// Removes the folder unless it has been renamed.
class Unfinished {
 public:
  explicit Unfinished(fs::path folder) : folder_(std::move(folder)) {}
  ~Unfinished() {
    std::error_code error;
    fs::remove_all(folder_, error);
  }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  Unfinished(Unfinished&&) = delete;
  Unfinished& operator=(Unfinished&&) = delete;

 private:
  fs::path folder_;
};

bool system_prefix(const fs::path& prefix) {
  return prefix.empty() || prefix == "/usr" || prefix == "/usr/local";
}

}  // namespace

ExitCode new_plugin_verb(const NewPluginArguments& arguments) {
  const std::string word = arguments.name.substr(arguments.name.find('.') + 1);
  if (!is_stage_name(arguments.name)) {
    throw refuse("'" + arguments.name +
                 "' is not a valid stage name: use lower-case letters, digits and " +
                 "underscores, starting with a letter, optionally with a family prefix, such as " +
                 "unsharp_mask or acme.unsharp_mask");
  }
  static const std::vector<std::string> taken{"all",     "build",         "clean",   "edit_cache",
                                              "harness", "help",          "install", "package",
                                              "plugin",  "rebuild_cache", "seam",    "test"};
  if (std::ranges::find(taken, word) != taken.end()) {
    throw refuse("'" + word + "' is reserved: every project has a file or a CMake target with " +
                 "this name; choose another name");
  }
  const Registry registry(default_search_path({}, {}), 1);
  if (const PluginFile* file = registry.find(arguments.name)) {
    throw refuse("stage '" + arguments.name + "' already exists in '" + file->path.string() +
                 "', so a pipeline that uses this name would be rejected; choose another name");
  }
  fs::path folder = arguments.output.empty() ? fs::path(word) : fs::path(arguments.output);
  if (!folder.has_filename()) folder = folder.parent_path();  // "folder/"
  expect_nothing_at(folder);
  const fs::path templates = template_folder() / "plugin";
  const std::string version = seam_version();
  const std::string package = "find_package(Seam " + version.substr(0, version.rfind('.'));
  // There is only a template with tensors for these.
  const bool always_tensor = arguments.kind == "model" || arguments.kind == "loss";
  Replacements replacements;
  if (arguments.tensor || always_tensor) {
    replacements = {
        {"find_package(Seam 0.1 REQUIRED)\n", package + " REQUIRED COMPONENTS tensor)\n"},
        {"seam_add_plugin(template_plugin ", "seam_add_plugin(" + word + " TENSOR "},
        {"PUBLIC Seam::sdk)", "PUBLIC Seam::tensor)"},
        {"ninja-build libgtest-dev", "ninja-build libgtest-dev libtorch-dev"}};
  }
  const Replacements names{
      {"find_package(Seam 0.1", package},      {"template_plugin", word},
      {"template_stage_test", word + "_test"}, {"template_stage", word},
      {"TemplateStage", class_name(word)},     {"template.stage", arguments.name}};
  replacements.insert(replacements.end(), names.begin(), names.end());
  // The folder appears complete, so that the command can be repeated after a failure.
  const fs::path part = folder.string() + ".part-" + std::to_string(::getpid());
  expect_nothing_at(part);
  const Unfinished unfinished(part);
  copy_folder(templates / "project", part, replacements);
  copy_folder(templates / (arguments.kind + (arguments.tensor && !always_tensor ? "_tensor" : "")),
              part, replacements);
  fs::rename(part, folder);

  const fs::path prefix = own_prefix();
  const std::string where =
      system_prefix(prefix) ? std::string() : " -DCMAKE_PREFIX_PATH=" + prefix.string();
  std::cout << "created " << folder.string() << "/ with the stage '" << arguments.name
            << "'. Next:\n"
            << "  cd " << folder.string() << "\n"
            << "  cmake -B build" << where << " && cmake --build build\n"
            << "  ctest --test-dir build --output-on-failure\n"
            << "  SEAM_PLUGIN_PATH=build/lib/seam/plugins seam run pipeline.toml\n"
            << "README.md describes the files." << std::endl;
  return ExitCode::success;
}

namespace {

/// The replacements that fill the template for a table.
Replacements of_table(const std::string& name, const std::string& file) {
  const OwnTable table = read_own_table(file);
  const auto text = [](const std::string& value) { return seam::to_text(Value{value}); };
  std::string columns;
  const auto set = [&](const std::string& key, const std::string& value, bool usual) {
    if (!usual) columns += (columns.empty() ? "" : "\n") + key + " = " + text(value);
  };
  set("path_column", table.path_column, table.path_column == "path");
  set("item_column", table.item_column, false);  // there may be a column with labels, too
  set("separator", table.separator == '\t' ? "tab" : std::string(1, table.separator),
      table.separator == ',');
  const auto rows = [&](const std::string& split, const std::string& part) {
    if (table.held_out == 0) return "split = " + text(split);
    return "hold_out = " + std::to_string(table.held_out) + "  # items\npart = " + text(part);
  };
  constexpr std::int64_t most_items = 24;
  constexpr std::int64_t images = 4;
  constexpr std::int64_t least_batches = 16;
  const std::int64_t items = std::min(most_items, table.train_items);
  const std::int64_t size = items * images;
  const std::string batch = std::to_string(size);
  const std::string evaluation =
      table.query == table.gallery
          ? "# Each image that is not used for training is searched for among the others of its "
            "list (leave-one-out)."
      : table.leave_one_out ? "# Each query is searched for in the gallery, without itself."
                            : "# Each query is searched for in the gallery.";
  return {{"template_pipeline", name},
          {"\"template_table\"", text(file)},
          {"# template_columns", columns},
          {"# template_train_rows", rows(table.train, "train")},
          {"# template_query_rows", rows(table.query, "held_out")},
          {"# template_gallery_rows", rows(table.gallery, "held_out")},
          {"# template_evaluation", evaluation},
          {"# template_search\n", table.leave_one_out ? "exclude_self = true\n" : ""},
          {"items = 1         # template_items", "items = " + std::to_string(items)},
          {"per_epoch = 1     # template_batches",
           "per_epoch = " + std::to_string(std::max(least_batches, table.train_images / size))},
          {"size = 4          # template_batch", "size = " + batch},
          {"group_size = 4    # template_batch", "group_size = " + batch}};
}

}  // namespace

ExitCode new_pipeline_verb(const NewPipelineArguments& arguments) {
  fs::path file = arguments.name;
  if (file.extension() != ".toml") file += ".toml";
  const std::string word = file.stem().string();
  if (!is_stage_name(word)) {
    throw refuse("'" + word +
                 "' is not a valid pipeline name: use lower-case letters, digits and " +
                 "underscores, starting with a letter");
  }
  expect_nothing_at(file);
  const bool own = !arguments.table.empty();
  const Replacements replacements =
      own ? of_table(word, arguments.table) : Replacements{{"template_pipeline", word}};
  const fs::path schema = file.parent_path() / "seam.schema.json";
  std::error_code error;
  const bool schema_there = fs::exists(schema, error);
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), error);
  if (!schema_there) write_whole_file(schema, schema_text({}));
  const char* const source = own ? "pipeline_of_table.toml" : "pipeline.toml";
  write_whole_file(file, replaced(read_text_file(template_folder() / source), replacements));
  std::cout << "created " << file.string() << (schema_there ? "" : " and " + schema.string())
            << ". Next:\n"
            << (schema_there ? "  seam schema > " + schema.string() + "   # updates it\n" : "")
            << "  seam check " << file.string() << "\n"
            << "  seam run " << file.string() << std::endl;
  return ExitCode::success;
}

}  // namespace seam::host
