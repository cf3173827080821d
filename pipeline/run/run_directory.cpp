#include "pipeline/run/run_directory.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <functional>
#include <string_view>
#include <system_error>

#include "pipeline/config/source.hpp"
#include "pipeline/plugins/manifest.hpp"
#include "pipeline/run/checksum.hpp"
#include "pipeline/run/clock.hpp"
#include "pipeline/text/refuse.hpp"
#include "seam/declaration.hpp"

namespace seam::host {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view head_mark = "#: ";

/// A pipeline's name as part of a folder name.
std::string folder_name(const std::string& name) {
  std::string result;
  for (const char c : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
    result += plain ? c : '-';
  }
  return result.empty() ? "run" : result;
}

std::string toml_quoted(const std::string& text) {
  return seam::to_text(Value{as_utf8(text)});  // as TOML writes it
}

void refuse_unless_empty(const fs::path& folder) {
  // A process that was killed leaves its lock, and perhaps half of its first file.
  const auto is_left_behind = [](const fs::directory_entry& entry) {
    return entry.path().filename() == "lock" || entry.path().filename() == "resolved.toml.part";
  };
  if (std::ranges::all_of(fs::directory_iterator(folder), is_left_behind)) return;
  const bool run = fs::exists(folder / "resolved.toml");
  refuse("'{}' {}", folder.string(),
         run ? "already contains a run; resume it with --resume, or choose another folder"
             : "is not empty; choose a new or empty folder with --run-dir");
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw path_fault("cannot create the run folder", path, error);
}

std::string toml_text(const toml::table& table, std::string_view key) {
  return table[key].value_or(std::string());
}

std::map<std::string, std::string> texts_of(const toml::table& parent, std::string_view key) {
  std::map<std::string, std::string> texts;
  const toml::table* table = parent[key].as_table();
  if (table == nullptr) return texts;
  for (const auto& [name, text] : *table) texts.emplace(name.str(), text.value_or(std::string()));
  return texts;
}

/// Calls `take` with each table of an array of tables.
void for_each_table(const toml::table& parent, std::string_view key,
                    const std::function<void(const toml::table&)>& take) {
  const toml::array* tables = parent[key].as_array();
  if (tables == nullptr) return;
  for (const toml::node& node : *tables) {
    if (const toml::table* table = node.as_table()) take(*table);
  }
}

}  // namespace

std::string to_text(const RunOrigin& origin) {
  if (origin.run.empty()) return {};
  return (fs::path(origin.run).filename() / origin.checkpoint).string();
}

std::string seam_version() {
  return SEAM_VERSION;
}

Launch make_launch(const PipelineSpec& spec, const std::vector<PluginFile>& plugins) {
  Launch launch;
  launch.version = seam_version();
  launch.compiler = host_manifest().compiler;
  launch.started = time_text(std::chrono::system_clock::now());
  if (!spec.file.empty()) launch.file = fs::absolute(spec.file).lexically_normal().string();
  launch.working_directory = as_utf8(fs::current_path().string());
  for (const PluginFile& plugin : plugins) {
    launch.plugins.push_back({plugin.path.string(), sha256_of_file(plugin.path),
                              plugin.manifest.libtorch, plugin.manifest.opencv});
  }
  return launch;
}

std::string headed_text(const Launch& launch, const std::string& pipeline) {
  std::string text =
      "# The complete pipeline of this run: extends, variables and overrides are resolved.\n"
      "# `seam run --resume` reads it, with the lines below.\n";
  const auto line = [&text](const std::string& content) {
    text += head_mark;
    text += content + "\n";
  };
  line("seam = " + toml_quoted(launch.version));
  line("compiler = " + toml_quoted(launch.compiler));
  line("started = " + toml_quoted(launch.started));
  line("file = " + toml_quoted(launch.file));
  line("working_directory = " + toml_quoted(launch.working_directory));
  if (!launch.shard.empty()) {
    line("shard = " + toml_quoted(launch.shard));
    line("numerics = " + toml_quoted(launch.numerics));
  }
  for (const PluginUsed& plugin : launch.plugins) {
    line("[[plugin]]");
    line("path = " + toml_quoted(plugin.path));
    line("sha256 = " + toml_quoted(plugin.sha256));
    line("libtorch = " + toml_quoted(plugin.libtorch));
    line("opencv = " + toml_quoted(plugin.opencv));
  }
  const auto values = [&](const std::string& table, const auto& of_keys) {
    if (!of_keys.empty()) line("[" + table + "]");
    for (const auto& [key, value] : of_keys) line(toml_quoted(key) + " = " + toml_quoted(value));
  };
  values("data", launch.data);
  values("initial", launch.initial);
  values("roles", launch.roles.texts());
  const auto origin = [&](const std::string& table, const RunOrigin& run) {
    if (run.run.empty()) return;
    line("[" + table + "]");
    line("run = " + toml_quoted(run.run));
    line("checkpoint = " + toml_quoted(run.checkpoint));
    if (!run.sha256.empty()) line("sha256 = " + toml_quoted(run.sha256));
    if (!run.weights.empty()) line("weights = " + toml_quoted(run.weights));
  };
  origin("from", launch.from);
  origin("evaluates", launch.evaluates);
  values("trained_with", launch.trained_with);
  values("evaluated_with", launch.evaluated_with);
  return text + "\n" + pipeline;
}

std::string pipeline_below_head(const std::string& text) {
  std::size_t at = 0;
  while (at < text.size() && text[at] == '#')
    at = std::min(text.find('\n', at), text.size() - 1) + 1;
  if (at < text.size() && text[at] == '\n') ++at;
  return text.substr(at);
}

Launch parse_launch(const std::string& text, const std::string& file) {
  std::string head;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line) && line.starts_with('#');) {
    if (line.starts_with(head_mark)) head += line.substr(head_mark.size()) + "\n";
  }
  Launch launch;
  try {
    const toml::table table = toml::parse(std::string_view(head), std::string_view(file));
    launch.version = toml_text(table, "seam");
    launch.compiler = toml_text(table, "compiler");
    launch.started = toml_text(table, "started");
    launch.file = toml_text(table, "file");
    launch.working_directory = toml_text(table, "working_directory");
    launch.shard = toml_text(table, "shard");
    launch.numerics = toml_text(table, "numerics");
    for_each_table(table, "plugin", [&](const toml::table& plugin) {
      launch.plugins.push_back({toml_text(plugin, "path"), toml_text(plugin, "sha256"),
                                toml_text(plugin, "libtorch"), toml_text(plugin, "opencv")});
    });
    launch.data = texts_of(table, "data");
    launch.initial = texts_of(table, "initial");
    launch.roles = Roles(texts_of(table, "roles"));
    launch.trained_with = texts_of(table, "trained_with");
    launch.evaluated_with = texts_of(table, "evaluated_with");
    const auto origin = [&table](std::string_view key) {
      const toml::table* run = table[key].as_table();
      return run == nullptr ? RunOrigin()
                            : RunOrigin{toml_text(*run, "run"), toml_text(*run, "checkpoint"),
                                        toml_text(*run, "sha256"), toml_text(*run, "weights")};
    };
    launch.from = origin("from");
    launch.evaluates = origin("evaluates");
  } catch (const toml::parse_error& error) {
    refuse("the '#:' lines at the top of '{}' are not valid TOML: {}; restore them", file,
           error.description());
  }
  return launch;
}

Launch read_launch(const fs::path& run_directory) {
  const fs::path file = run_directory / "resolved.toml";
  std::error_code error;
  if (!fs::is_regular_file(file, error)) {
    refuse(
        "'{}' is not a run folder: it has no readable resolved.toml; pass a folder written by "
        "`seam run`",
        run_directory.string());
  }
  return parse_launch(read_text_file(file), file.string());
}

fs::path make_numbered_folder(const std::string& name) {
  const fs::path runs = "runs";
  make_folder(runs);
  const std::string stem =
      folder_name(name) + "-" + compact_time_text(std::chrono::system_clock::now()) + "-";
  for (int number = 1;; ++number) {
    fs::path path = fs::absolute(runs / (stem + std::to_string(number)));
    std::error_code error;
    // True only for the process that created it.
    if (fs::create_directory(path, error)) return path;
    if (error) throw path_fault("cannot create the run folder", path, error);
  }
}

RunDirectory RunDirectory::create(const fs::path& requested, const std::string& pipeline) {
  if (!requested.empty()) {
    make_folder(requested);
    refuse_unless_empty(requested);  // before the lock, which would leave a file in it
    RunDirectory directory(fs::absolute(requested).lexically_normal());
    refuse_unless_empty(requested);  // another run may have been quicker
    return directory;
  }
  return RunDirectory(make_numbered_folder(pipeline));
}

RunDirectory RunDirectory::reopen(const fs::path& path) {
  read_launch(path);  // throws if it is not a run folder
  return RunDirectory(fs::absolute(path).lexically_normal());
}

}  // namespace seam::host
