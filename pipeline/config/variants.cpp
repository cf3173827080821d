#include "pipeline/config/variants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "pipeline/config/host_tables.hpp"
#include "pipeline/config/merge.hpp"
#include "pipeline/config/values.hpp"
#include "pipeline/text/lists.hpp"
#include "pipeline/text/nearest.hpp"

namespace seam::host {
namespace {

constexpr std::size_t most_combinations = 64;

bool is_variant_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-';
  });
}

void check_name(const Entry& entry, std::string_view kind, Findings& findings) {
  if (is_variant_name(entry.key)) return;
  findings.error("variant-name", entry.key_place,
                 fmt::format("'{}' is not a valid name of a {}", entry.key, kind),
                 {"names have letters, digits, '_' and '-'"});
}

Entry take_entry(Table& tree, std::string_view key) {
  const auto at = std::ranges::find(tree.entries, key, &Entry::key);
  Entry taken = std::move(*at);
  tree.entries.erase(at);
  return taken;
}

}  // namespace

const VariantGroup* VariantNames::group_of(std::string_view variant) const {
  const auto found = std::ranges::find_if(
      groups, [&](const VariantGroup& group) { return contains(group.variants, variant); });
  return found == groups.end() ? nullptr : &*found;
}

bool is_variant_key(std::string_view key) {
  return key == "variant" || key.starts_with("variant.");
}

std::vector<std::vector<std::string>> choices_of(const VariantNames& names) {
  std::vector<std::vector<std::string>> choices;
  std::size_t combinations = 1;
  for (const VariantGroup& group : names.groups) {
    combinations = std::min(combinations * group.variants.size(), most_combinations + 1);
  }
  const bool crossed = !names.groups.empty() && combinations <= most_combinations;
  if (crossed) {
    choices.emplace_back();
    for (const VariantGroup& group : names.groups) {
      std::vector<std::vector<std::string>> longer;
      for (const auto& choice : choices) {
        for (const std::string& variant : group.variants) {
          longer.push_back(choice);
          longer.back().push_back(variant);
        }
      }
      choices = std::move(longer);
    }
  }
  for (const std::string& variant : names.variants) {
    if (!crossed || names.group_of(variant) == nullptr) choices.push_back({variant});
  }
  return choices;
}

Variants::Variants(Table& tree, Findings& findings) {
  if (tree.find("variant") != nullptr) read_variants(take_entry(tree, "variant"), findings);
  if (tree.find("variants") != nullptr) read_groups(take_entry(tree, "variants"), findings);
}

void Variants::read_variants(const Entry& entry, Findings& findings) {
  static const std::vector<std::string> accepted{"pipeline", "limits", "stage",
                                                 "path",     "flow",   "schedule"};
  const Table* table = read_table(entry, "[variant.NAME]", findings);
  if (table == nullptr) return;
  for (const Entry& variant : table->entries) {
    check_name(variant, "variant", findings);
    const std::string name = "[variant." + variant.key + "]";
    const Table* changes = read_table(variant, name, findings);
    if (changes == nullptr) continue;
    refuse_unknown_keys(*changes, name, accepted, findings);
    names_.variants.push_back(variant.key);
  }
  changes_ = *table;
}

void Variants::read_groups(const Entry& entry, Findings& findings) {
  const Table* table = read_table(entry, "[variants]", findings);
  if (table == nullptr) return;
  for (const Entry& line : table->entries) {
    check_name(line, "group of variants", findings);
    VariantGroup group{line.key, {}};
    for (const Node* node : read_texts(line, "[variants]", findings)) {
      const std::string& variant = *node->text();
      if (!contains(names_.variants, variant)) {
        findings.error("unknown-variant", node->place,
                       fmt::format("there is no [variant.{}]", variant),
                       {did_you_mean(variant, names_.variants)});
      } else if (const VariantGroup* other = names_.group_of(variant)) {
        findings.error("variant-group", node->place,
                       fmt::format("the variant '{}' is in the group '{}' as well; a variant "
                                   "belongs to one group",
                                   variant, other->name));
      } else if (contains(group.variants, variant)) {
        findings.error("variant-group", node->place,
                       fmt::format("the variant '{}' is listed twice", variant));
      } else {
        group.variants.push_back(variant);
      }
    }
    if (line.node.array() != nullptr && line.node.array()->empty()) {
      findings.error("variant-group", line.key_place,
                     fmt::format("the group '{}' has no variants", line.key));
    }
    names_.groups.push_back(std::move(group));
  }
}

void Variants::mark(const Node& node) {
  marks_.emplace(node.place.file, node.place.line, node.place.column);
  if (const Table* table = node.table()) {
    for (const Entry& entry : table->entries) mark(entry.node);
  }
}

bool Variants::is_marked(const Node& node) const {
  if (const Table* table = node.table()) {
    return std::ranges::any_of(table->entries,
                               [&](const Entry& entry) { return is_marked(entry.node); });
  }
  return marks_.contains(Mark(node.place.file, node.place.line, node.place.column));
}

void Variants::lay_over(Table& tree, const std::vector<std::string>& chosen,
                        const Environment& environment, Sources& sources, Findings& findings) {
  if (chosen.empty()) return;
  const SourceText& source = sources.add_lines("--variant", chosen);
  std::map<std::string, std::string> of_group;
  for (std::size_t at = 0; at < chosen.size(); ++at) {
    const std::string& name = chosen[at];
    const auto length = static_cast<std::uint32_t>(std::max<std::size_t>(characters(name), 1));
    const Place place{source.name, static_cast<std::uint32_t>(at + 1), 1, length};
    const Entry* variant = changes_.find(name);
    if (variant == nullptr) {
      findings.error(
          "unknown-variant", place, fmt::format("there is no variant '{}'", name),
          {did_you_mean(name, names_.variants),
           names_.variants.empty() ? "the file has no variants: [variant.NAME]"
                                   : "variants of this file: " + enumerated(names_.variants)});
      continue;
    }
    const VariantGroup* group = names_.group_of(name);
    const auto [other, is_first] =
        of_group.emplace(group != nullptr ? group->name : "=" + name, name);
    if (!is_first) {
      findings.error("variant-group", place,
                     other->second == name
                         ? fmt::format("the variant '{}' is chosen twice", name)
                         : fmt::format("'{}' and '{}' both belong to the group '{}'; choose one",
                                       other->second, name, group->name),
                     {group != nullptr && other->second != name
                          ? group->name + ": " + enumerated(group->variants)
                          : std::string()});
      continue;
    }
    laid_.push_back(group != nullptr ? group->name + "=" + name : name);
    if (variant->node.table() == nullptr) continue;  // that has been reported
    mark(variant->node);
    Table changes = *variant->node.table();
    merge_tables(tree, std::move(changes), environment);
  }
}

/// "stage.loss" if a variant decides the stage's type, and so all of its parameters; otherwise
/// keys.
std::vector<std::string> Variants::decided(const Table& tree) const {
  std::vector<std::string> keys;
  const auto add_keys = [&](const Table& table, const std::string& name) {
    for (const Entry& entry : table.entries) {
      if (is_marked(entry.node)) keys.push_back(name + "." + entry.key);
    }
  };
  for (const Entry& entry : tree.entries) {
    const Table* table = entry.node.table();
    if (table == nullptr || entry.key == "chosen") continue;
    if (entry.key != "stage") {
      add_keys(*table, entry.key);
      continue;
    }
    for (const Entry& stage : table->entries) {
      const Table* parameters = stage.node.table();
      if (parameters == nullptr) continue;
      const std::string name = "stage." + stage.key;
      const bool type = std::ranges::any_of(parameters->entries, [&](const Entry& key) {
        return (key.key == "use" || key.key == "like") && is_marked(key.node);
      });
      if (type) {
        keys.push_back(name);
      } else {
        add_keys(*parameters, name);
      }
    }
  }
  return keys;
}

ChosenSpec Variants::chosen(const Table& tree, const std::vector<std::string>& set,
                            Findings& findings) const {
  ChosenSpec spec;
  if (const Table* table = read_table(tree, "chosen", findings)) {
    read_keys(chosen_table(spec), *table, findings);
  }
  if (tree.find("chosen") == nullptr && names_.variants.empty() && set.empty()) return spec;
  const auto add = [](std::vector<std::string>& to, const std::vector<std::string>& more) {
    for (const std::string& one : more) add_unless_present(to, one);
  };
  add(spec.variants, laid_);
  add(spec.decides, decided(tree));
  add(spec.set, set);
  return spec;
}

}  // namespace seam::host
