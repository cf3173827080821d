#include "pipeline/config/merge.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <set>
#include <system_error>
#include <utility>

#include "pipeline/config/variants.hpp"
#include "pipeline/text/nearest.hpp"

namespace seam::host {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t largest_file = 16 << 20;
constexpr std::size_t longest_chain = 32;

/// Returns the file's text, or sets the reason why it cannot be read.
std::optional<std::string> file_text(const fs::path& file, std::string& why) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (!fs::exists(status)) {
    why = error && error != std::errc::no_such_file_or_directory ? error.message()
                                                                 : "there is no such file";
    return std::nullopt;
  }
  if (fs::is_directory(status)) {
    why = "it is a folder, not a pipeline file";
    return std::nullopt;
  }
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    why = std::generic_category().message(errno);
    return std::nullopt;
  }
  // In pieces, because the size of a pipe is unknown.
  std::string text;
  std::array<char, 1 << 14> piece{};
  while (stream && text.size() <= largest_file) {
    stream.read(piece.data(), piece.size());
    text.append(piece.data(), static_cast<std::size_t>(stream.gcount()));
  }
  if (text.size() > largest_file) {
    why = "it is larger than 16 MiB, too large for a pipeline file";
    return std::nullopt;
  }
  if (stream.bad()) {
    why = "reading it failed";
    return std::nullopt;
  }
  return text;
}

const Table* table_at(const Table& table, std::string_view key) {
  const Entry* entry = table.find(key);
  return entry != nullptr ? entry->node.table() : nullptr;
}

/// The value of the key with its known variables replaced.
std::optional<std::string> text_at(const Table& table, std::string_view key,
                                   const Environment& environment) {
  const Entry* entry = table.find(key);
  if (entry == nullptr || entry->node.text() == nullptr) return std::nullopt;
  const Expansion expansion = expand_variables(*entry->node.text(), environment);
  return expansion.faults.empty() ? expansion.text : *entry->node.text();
}

/// The type of a stage in these trees; the first tree that sets it counts. With `like`, it is the
/// type of the other stage.
std::optional<std::string> use_of(std::string name, const std::vector<const Table*>& trees,
                                  const Environment& environment) {
  std::set<std::string> asked;
  while (asked.insert(name).second) {
    std::optional<std::string> like;
    for (const Table* tree : trees) {
      const Table* stages = table_at(*tree, "stage");
      const Table* stage = stages != nullptr ? table_at(*stages, name) : nullptr;
      if (stage == nullptr) continue;
      if (auto use = text_at(*stage, "use", environment)) return use;
      like = text_at(*stage, "like", environment);
      if (like) break;
    }
    if (!like) break;
    name = *like;
  }
  return std::nullopt;
}

/// Makes a stage that is no longer like another one keep the keys that it took from it.
void keep_what_it_was(Table& stage, const Table& stages, const Environment& environment) {
  std::set<std::string> asked;
  std::optional<std::string> like = text_at(stage, "like", environment);
  while (like && asked.insert(*like).second) {
    const Table* other = table_at(stages, *like);
    if (other == nullptr) break;
    for (const Entry& entry : other->entries) {
      if (entry.key != "like" && stage.find(entry.key) == nullptr) stage.entries.push_back(entry);
    }
    like = text_at(*other, "like", environment);
  }
  std::erase_if(stage.entries, [](const Entry& entry) { return entry.key == "like"; });
}

/// Prepares the stages of `base` whose `use` or `like` is set in `over`, so that each one is left
/// with keys for its new type only:
///
///     [stage.loss]                         over it:                     [stage.loss]
///     use = "loss.triplet"                 use = "loss.proxy_anchor"
///     margin = 0.2                                              ──►     (margin is gone)
///     on_error = "skip"                                                 on_error = "skip"
void drop_keys_of_former_types(Table& base, const Table& over, const Environment& environment) {
  const Table* over_stages = table_at(over, "stage");
  Entry* entry = base.find("stage");
  Table* stages = entry != nullptr ? entry->node.table() : nullptr;
  if (over_stages == nullptr || stages == nullptr) return;
  std::vector<Entry*> changed;   // get another type
  std::vector<Entry*> of_other;  // keep theirs, although the stage that they are like changes
  for (const Entry& stage : over_stages->entries) {
    const Table* table = stage.node.table();
    Entry* known = stages->find(stage.key);
    if (table == nullptr || known == nullptr || known->node.table() == nullptr) continue;
    if (table->find("use") == nullptr && table->find("like") == nullptr) continue;
    const auto before = use_of(stage.key, {&base}, environment);
    const auto now = use_of(stage.key, {&over, &base}, environment);
    if (before && now && *before != *now) {
      known->key_place = stage.key_place;
      changed.push_back(known);
    } else if (const auto like = text_at(*known->node.table(), "like", environment)) {
      const auto other = use_of(*like, {&over, &base}, environment);
      if (now && other && *now != *other) of_other.push_back(known);
    }
  }
  // First those that take keys from the changed ones.
  for (Entry* stage : of_other) keep_what_it_was(*stage->node.table(), *stages, environment);
  for (Entry* stage : changed) {
    std::erase_if(stage->node.table()->entries,
                  [](const Entry& key) { return key.key != "on_error"; });
  }
}

void merge_into(Table& base, Table over) {
  for (Entry& entry : over.entries) {
    Entry* known = base.find(entry.key);
    if (known == nullptr) {
      base.entries.push_back(std::move(entry));
    } else if (known->node.table() != nullptr && entry.node.table() != nullptr) {
      merge_into(*known->node.table(), std::move(*entry.node.table()));
    } else {
      *known = std::move(entry);
    }
  }
}

class FileReader {
 public:
  FileReader(const Environment& environment, Sources& sources, Findings& findings)
      : environment_(environment), sources_(sources), findings_(findings) {}

  std::optional<Table> read(const fs::path& file, const Place& asked_for) {
    std::string why;
    const std::optional<std::string> text = file_text(file, why);
    if (!text) {
      findings_.error("file", asked_for, "'" + file.string() + "' cannot be read: " + why);
      return std::nullopt;
    }
    const SourceText* source = sources_.find(file.string());
    const bool known = source != nullptr;
    if (!known) source = &sources_.add(file.string(), *text);
    Findings unheard(sources_);  // a file that two others extend is reported once
    Node root = read_document(*source, known ? unheard : findings_);
    if (root.broken) return std::nullopt;
    Table own = std::move(*root.table());
    chain_.push_back(canonical(file));
    std::optional<Table> tree = with_bases(std::move(own), file);
    chain_.pop_back();
    return tree;
  }

 private:
  static fs::path canonical(const fs::path& file) {
    std::error_code error;
    const fs::path path = fs::weakly_canonical(file, error);
    return error ? file : path;
  }

  std::optional<Table> with_bases(Table own, const fs::path& file) {
    const Entry* extends = own.find("extends");
    if (extends == nullptr) return own;
    std::vector<Node> bases;
    if (extends->node.text() != nullptr) {
      bases.push_back(extends->node);
    } else if (extends->node.array() != nullptr) {
      bases = *extends->node.array();
    } else {
      findings_.error(
          "type", extends->node.place,
          "'extends' takes the path of a file or a list of them, not " + kind_of(extends->node));
      return std::nullopt;
    }
    std::erase_if(own.entries, [](const Entry& entry) { return entry.key == "extends"; });
    Table tree;
    bool complete = true;
    for (Node& base : bases) {
      std::optional<Table> read = read_base(base, file);
      if (!read) {
        complete = false;
      } else {
        merge_tables(tree, std::move(*read), environment_);
      }
    }
    if (!complete) return std::nullopt;
    merge_tables(tree, std::move(own), environment_);
    return tree;
  }

  std::optional<Table> read_base(Node& base, const fs::path& file) {
    if (base.text() == nullptr) {
      findings_.error("type", base.place, "'extends' lists paths of files, not " + kind_of(base));
      return std::nullopt;
    }
    Table holder;
    holder.entries.push_back({"extends", base.place, base});
    expand_tree(holder, environment_, sources_, findings_);
    const Node& expanded = holder.entries.front().node;
    if (expanded.broken) return std::nullopt;
    const fs::path path = (file.parent_path() / *expanded.text()).lexically_normal();
    const fs::path target = canonical(path);
    const auto start = std::find(chain_.begin(), chain_.end(), target);
    if (start != chain_.end()) {
      std::vector<std::string> circle;
      for (auto step = start; step != chain_.end(); ++step) {
        circle.push_back(step->filename().string());
      }
      findings_.error("extends-cycle", base.place, "'" + path.string() + "' extends itself",
                      {circle_text(circle)});
      return std::nullopt;
    }
    if (chain_.size() >= longest_chain) {
      findings_.error(
          "extends-cycle", base.place,
          "the chain of 'extends' is longer than " + std::to_string(longest_chain) + " files");
      return std::nullopt;
    }
    std::error_code unknown;
    if (!fs::exists(path, unknown) && fs::exists(*expanded.text(), unknown)) {
      findings_.error("file", base.place, "'" + path.string() + "' does not exist",
                      {"a path in 'extends' is relative to the file's folder; for the file in the "
                       "current folder, write " +
                       fs::absolute(*expanded.text(), unknown).lexically_normal().string()});
      return std::nullopt;
    }
    return read(path, base.place);
  }

  const Environment& environment_;
  Sources& sources_;
  Findings& findings_;
  std::vector<fs::path> chain_;
};

struct PathStep {
  std::string key;
  std::size_t offset;  ///< byte in the option's text
  std::size_t length;
};

/// "stage.model.classes" or "stage.\"odd name\".x" up to the equals sign.
std::optional<std::vector<PathStep>> parse_path(std::string_view text, std::size_t& equals) {
  std::vector<PathStep> steps;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t from = at;
    std::string key;
    if (text[at] == '"' || text[at] == '\'') {
      const std::size_t close = text.find(text[at], at + 1);
      if (close == std::string_view::npos) return std::nullopt;
      key = text.substr(at + 1, close - at - 1);
      at = close + 1;
    } else {
      at = std::min(text.find_first_of(".= \t", at), text.size());
      key = text.substr(from, at - from);
    }
    if (key.empty()) return std::nullopt;
    steps.push_back({std::move(key), from, at - from});
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
    if (at >= text.size()) return std::nullopt;
    if (text[at] == '=') {
      equals = at;
      return steps;
    }
    if (text[at] != '.') return std::nullopt;
    ++at;
  }
  return std::nullopt;
}

void expand_node(Node& node, const Environment& environment, const Sources& sources,
                 Findings& findings) {
  if (auto* array = std::get_if<Array>(&node.value)) {
    for (Node& element : *array) {
      expand_node(element, environment, sources, findings);
      node.broken = node.broken || element.broken;
    }
  } else if (Table* table = node.table()) {
    expand_tree(*table, environment, sources, findings);
  } else if (auto* text = std::get_if<std::string>(&node.value)) {
    if (text->find('$') == std::string::npos) return;
    Expansion expansion = expand_variables(*text, environment);
    for (const TextFault& fault : expansion.faults) {
      findings.error(fault.code, place_inside(sources, node, fault.offset, fault.length),
                     fault.message, fault.notes);
    }
    if (expansion.faults.empty() && !is_utf8(expansion.text)) {
      findings.error("not-utf8", node.place,
                     "with variables replaced, this string is '" + as_utf8(expansion.text) +
                         "', which is not valid UTF-8",
                     {"rename the folder or file that it names"});
      node.broken = true;
    }
    node.broken = node.broken || !expansion.faults.empty();
    *text = std::move(expansion.text);
    node.written = std::move(expansion.written);
  }
}

}  // namespace

void merge_tables(Table& base, Table over, const Environment& environment) {
  drop_keys_of_former_types(base, over, environment);
  merge_into(base, std::move(over));
}

std::optional<Table> read_with_bases(const fs::path& file, const Environment& environment,
                                     Sources& sources, Findings& findings) {
  FileReader reader(environment, sources, findings);
  return reader.read(file, {file.string(), 0, 0, 1});
}

std::vector<std::string> apply_overrides(Table& tree, const std::vector<std::string>& overrides,
                                         const Environment& environment, Sources& sources,
                                         Findings& findings) {
  const SourceText& source = sources.add_lines("--set", overrides);
  std::vector<std::string> keys;
  Table all;
  for (std::size_t i = 0; i < overrides.size(); ++i) {
    const std::string& text = overrides[i];
    const auto place_at = [&](std::size_t offset, std::size_t length) {
      const std::string_view before = std::string_view(text).substr(0, offset);
      const std::string_view marked = std::string_view(text).substr(offset, length);
      return Place{source.name, static_cast<std::uint32_t>(i + 1),
                   static_cast<std::uint32_t>(characters(before) + 1),
                   static_cast<std::uint32_t>(std::max<std::size_t>(1, characters(marked)))};
    };
    std::size_t equals = 0;
    const auto path = parse_path(text, equals);
    if (!is_utf8(text)) {
      findings.error("not-utf8", place_at(0, text.size()),
                     "this is not valid UTF-8, which pipeline files must be",
                     {"rename the folder or file that it names"});
      continue;
    }
    if (!path) {
      findings.error("set-syntax", place_at(0, text.size()),
                     "--set takes a key, an equals sign and a value: --set stage.model.classes=50");
      continue;
    }
    if (path->front().key == "extends") {
      findings.error("set-syntax", place_at(0, path->front().length),
                     "'extends' cannot be set here; write a file that extends the others");
      continue;
    }
    if (is_variant_key(path->front().key) || path->front().key == "variants") {
      findings.error(
          "set-syntax", place_at(0, path->front().length),
          "variants cannot be set here; choose one with --variant NAME, and set the keys "
          "that it changes");
      continue;
    }
    std::string key;
    for (const PathStep& step : *path) key += (key.empty() ? "" : ".") + step.key;
    keys.push_back(std::move(key));
    std::size_t value_at = equals + 1;
    while (value_at < text.size() && text[value_at] == ' ') ++value_at;
    Node value = read_set_value(text.substr(value_at), place_at(value_at, 1));
    if (const Table* table = value.table(); table != nullptr && table->entries.empty()) {
      findings.error("set-syntax", place_at(0, text.size()),
                     "an empty table changes nothing; set the keys within it");
      continue;
    }
    // Wrapped from the inside out: {stage: {model: {classes: 50}}}.
    for (auto step = path->rbegin(); step != path->rend(); ++step) {
      Table table;
      table.entries.push_back({step->key, place_at(step->offset, step->length), std::move(value)});
      value = Node{};
      value.value = std::move(table);
      value.place = place_at(step->offset, step->length);
    }
    merge_into(all, std::move(*value.table()));
  }
  merge_tables(tree, std::move(all), environment);
  return keys;
}

void expand_tree(Table& tree, const Environment& environment, const Sources& sources,
                 Findings& findings) {
  for (Entry& entry : tree.entries) expand_node(entry.node, environment, sources, findings);
}

}  // namespace seam::host
