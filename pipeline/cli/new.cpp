#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "pipeline/cli/loading.hpp"
#include "pipeline/plugins/registry.hpp"
#include "pipeline/run/files.hpp"
#include "pipeline/run/run_directory.hpp"
#include "pipeline/text/count.hpp"
#include "pipeline/text/lists.hpp"
#include "pipeline/text/nearest.hpp"
#include "pipeline/text/parse.hpp"
#include "pipeline/text/refuse.hpp"
#include "seam/declaration.hpp"

namespace seam::host {
namespace {

namespace fs = std::filesystem;
using Replacements = std::vector<std::pair<std::string, std::string>>;

fs::path template_folder() {
  fs::path folder = own_prefix() / "share/seam/template";
  if (!fs::is_directory(folder)) {
    refuse("the templates are missing: there is no folder '{}'; reinstall Seam", folder.string());
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
    refuse("'{}' already exists and is not overwritten; choose another name", path.string());
  }
}

bool system_prefix(const fs::path& prefix) {
  return prefix.empty() || prefix == "/usr" || prefix == "/usr/local";
}

}  // namespace

ExitCode new_plugin_verb(const NewPluginArguments& arguments) {
  const std::string word = arguments.name.substr(arguments.name.find('.') + 1);
  if (!is_stage_name(arguments.name)) {
    refuse(
        "'{}' is not a valid stage name: use lower-case letters, digits and underscores, starting "
        "with a letter, optionally with a family prefix, such as unsharp_mask or acme.unsharp_mask",
        arguments.name);
  }
  static const std::vector<std::string> taken{"all",     "build",         "clean",   "edit_cache",
                                              "harness", "help",          "install", "package",
                                              "plugin",  "rebuild_cache", "seam",    "test"};
  if (contains(taken, word)) {
    refuse(
        "'{}' is reserved: every project has a file or a CMake target with this name; choose "
        "another name",
        word);
  }
  const Registry registry(default_search_path({}, {}), 1);
  if (const PluginFile* file = registry.find(arguments.name)) {
    refuse(
        "stage '{}' already exists in '{}', so a pipeline that uses this name would be rejected; "
        "choose another name",
        arguments.name, file->path.string());
  }
  fs::path folder = arguments.output.empty() ? fs::path(word) : fs::path(arguments.output);
  if (!folder.has_filename()) folder = folder.parent_path();  // "folder/"
  expect_nothing_at(folder);
  const fs::path templates = template_folder() / "plugin";
  const std::string version = seam_version();
  const std::string package = "find_package(Seam " + version.substr(0, version.rfind('.'));
  Replacements replacements;
  if (arguments.kind == "tensor" || arguments.kind == "model" || arguments.kind == "loss") {
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
  const auto remove = [](const fs::path* unfinished) {
    std::error_code error;
    fs::remove_all(*unfinished, error);
  };
  const std::unique_ptr<const fs::path, decltype(remove)> unfinished(&part, remove);
  copy_folder(templates / "project", part, replacements);
  copy_folder(templates / arguments.kind, part, replacements);
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

/// A CSV file of the user's own images: its columns, and its division into images for training and
/// images for the evaluation.
struct OwnTable {
  char separator = ',';
  std::string path_column;
  std::string item_column;
  std::string train;              ///< value in the column 'split'; empty: there is no such column
  std::string query;              ///< the same, or "validation/query" if a flag selects the rows
  std::string gallery;            ///< the same
  bool leave_one_out = false;     ///< whether images are both query and in the gallery
  std::int64_t train_items = 0;   ///< number of items for training
  std::int64_t train_images = 0;  ///< number of their images
  std::int64_t held_out = 0;      ///< number of items for the evaluation; 0 if there are splits
};

using Cells = std::vector<std::string>;

[[noreturn]] void refuse_table(const fs::path& file, const std::string& what) {
  refuse("'{}' {}", file.string(), what);
}

/// Parses CSV (RFC 4180), without blanks around cells, and skips empty lines. The reader of the run
/// checks the table; this one only finds columns and counts.
std::vector<Cells> rows_of(const std::string& text, char separator) {
  std::vector<Cells> rows;
  Cells row(1);
  bool quoted = false;
  const auto end_row = [&] {
    if (row.size() > 1 || !row.front().empty()) {
      for (std::string& cell : row) cell = std::string(trimmed(cell));
      rows.push_back(row);
    }
    row.assign(1, {});
  };
  for (std::size_t at = text.starts_with("\xEF\xBB\xBF") ? 3 : 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      const bool doubled = quoted && at + 1 < text.size() && text[at + 1] == '"';
      if (doubled)
        row.back() += text[at++];
      else
        quoted = !quoted;
    } else if (!quoted && c == separator) {
      row.emplace_back();
    } else if (!quoted && c == '\n') {
      end_row();
    } else if (quoted || c != '\r') {
      row.back() += c;
    }
  }
  end_row();
  return rows;
}

char separator_of(const std::string& text) {
  const std::string head = text.substr(0, text.find('\n'));
  for (const char separator : {',', ';', '\t'}) {
    if (head.find(separator) != std::string::npos) return separator;
  }
  return ',';
}

std::optional<std::size_t> place_of(const Cells& head, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto found = std::ranges::find(head, name);
    if (found != head.end()) return found - head.begin();
  }
  return std::nullopt;
}

std::size_t column_of(const fs::path& file, const Cells& head, const std::string& what,
                      const std::vector<std::string>& names) {
  if (const auto place = place_of(head, names)) return *place;
  refuse_table(file, fmt::format("has no column for {} (one of {}); its columns are {}", what,
                                 enumerated(names), enumerated(head)));
}

/// Number of images per item of a split.
using Split = std::map<std::string, std::int64_t>;

/// How many rows of a split have the flags `is_query`, `is_gallery` and both.
struct Flagged {
  std::int64_t query = 0;
  std::int64_t gallery = 0;
  std::int64_t both = 0;
};

/// As dataset.table, which rejects other texts.
bool is_yes(const std::string& cell) {
  return cell == "True" || cell == "true" || cell == "TRUE" || cell == "1" || cell == "1.0";
}

/// Assigns the splits to training, queries and gallery by their usual names, and by the flags in
/// the evaluated split.
void assign_splits(const fs::path& file, const std::map<std::string, Split>& splits,
                   std::map<std::string, Flagged>& flags, OwnTable& table) {
  const std::vector<std::string> names = keys_in(splits);
  const auto first = [&](const std::vector<std::string>& usual) {
    const auto found =
        std::ranges::find_if(usual, [&](const auto& name) { return splits.contains(name); });
    return found == usual.end() ? std::string() : *found;
  };
  table.train = first({"train"});
  table.query = first({"query", "validation", "val", "test"});
  table.gallery = table.query == "query" ? first({"gallery"}) : table.query;
  if (table.train.empty() || table.query.empty() || table.gallery.empty()) {
    refuse_table(file,
                 "has the splits " + enumerated(names) +
                     "; accepted are train with query and gallery, or train with validation, val "
                     "or test; without a column 'split', a fifth of the items is held out");
  }
  table.leave_one_out = table.query == table.gallery;
  const Flagged& flagged = flags[table.query];
  if (!table.leave_one_out || flagged.query + flagged.gallery == 0) return;
  if (flagged.query == 0 || flagged.gallery == 0) {
    refuse_table(file,
                 fmt::format("has no row of split '{}' whose '{}' is true; set it, or remove both "
                             "flags to search for each image among the others",
                             table.query, flagged.query == 0 ? "is_query" : "is_gallery"));
  }
  table.gallery += "/gallery";
  table.query += "/query";
  table.leave_one_out = flagged.both > 0;
}

/// Throws seam::Error: data if the file cannot be read; configuration if it lacks a column with
/// files or items, has too few items, has splits with unknown names, or has only one of queries and
/// gallery among its flags.
OwnTable read_own_table(const fs::path& file) {
  const std::string text = read_text_file(file);
  OwnTable table;
  table.separator = separator_of(text);
  const std::vector<Cells> rows = rows_of(text, table.separator);
  if (rows.size() < 2) refuse_table(file, "has no rows after the line with its column names");
  const Cells& head = rows.front();
  const std::size_t path = column_of(file, head, "files", {"path", "file"});
  const std::size_t item = column_of(file, head, "items", {"item", "label"});
  const auto split = place_of(head, {"split"});
  const auto is_query = place_of(head, {"is_query"});
  const auto is_gallery = place_of(head, {"is_gallery"});
  table.path_column = head[path];
  table.item_column = head[item];
  std::map<std::string, Split> splits;
  std::map<std::string, Flagged> flags;
  std::map<std::string, std::size_t> row_of_path;
  for (std::size_t at = 1; at < rows.size(); ++at) {
    const Cells& row = rows[at];
    if (row.size() != head.size()) {
      refuse_table(file, fmt::format("has {} cells in row {}, but {} columns", row.size(), at + 1,
                                     head.size()));
    }
    const auto [first, is_new] = row_of_path.emplace(row[path], at + 1);
    if (!is_new) {
      refuse_table(file, fmt::format("has the file '{}' in rows {} and {}; remove one", row[path],
                                     first->second, at + 1));
    }
    const std::string& of_split = split ? row[*split] : table.train;
    ++splits[of_split][row[item]];
    if (!is_query || !is_gallery) continue;
    const bool query = is_yes(row[*is_query]);
    const bool gallery = is_yes(row[*is_gallery]);
    flags[of_split].query += query ? 1 : 0;
    flags[of_split].gallery += gallery ? 1 : 0;
    flags[of_split].both += query && gallery ? 1 : 0;
  }
  table.leave_one_out = true;
  if (split) assign_splits(file, splits, flags, table);
  Split train = splits.at(table.train);
  if (!split) {
    constexpr std::int64_t share = 5;
    table.held_out = std::max<std::int64_t>(static_cast<std::int64_t>(train.size()) / share, 2);
  }
  table.train_items = static_cast<std::int64_t>(train.size()) - table.held_out;
  if (table.train_items < 2) {
    refuse_table(
        file,
        fmt::format("has {} for training and for the held-out evaluation; at least 4 items are "
                    "required, or 2 in train if there is a column 'split'",
                    counted(train.size(), "item")));
  }
  std::int64_t with_pairs = 0;
  for (const auto& [name, images] : train) {
    table.train_images += images;
    if (images > 1) ++with_pairs;
  }
  if (with_pairs < 2) {
    refuse_table(file,
                 fmt::format("has {} with two or more images; training and evaluation compare "
                             "images of one item",
                             counted(static_cast<std::size_t>(with_pairs), "training item")));
  }
  // The held-out items are drawn when the run starts: about as many images as others have.
  table.train_images =
      table.train_images * table.train_items / static_cast<std::int64_t>(train.size());
  return table;
}

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
          {"size = 4          # template_batch", "size = " + batch}};
}

}  // namespace

ExitCode new_pipeline_verb(const NewPipelineArguments& arguments) {
  fs::path file = arguments.name;
  if (file.extension() != ".toml") file += ".toml";
  const std::string word = file.stem().string();
  if (!is_stage_name(word)) {
    refuse(
        "'{}' is not a valid pipeline name: use lower-case letters, digits and underscores, "
        "starting with a letter",
        word);
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
