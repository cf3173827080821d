#include "pipeline/report/settings_table.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string_view>

#include "pipeline/text/lists.hpp"
#include "pipeline/text/parse.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace {

constexpr std::string_view default_mark = "  # default";

using Lines = std::vector<std::string_view>;
using SettingsByLine = std::multimap<toml::source_index, Setting>;

/// The value as written in the file, so that users recognise it.
Setting setting_of(const Lines& lines, const std::string& table, const std::string& key,
                   const toml::node& node) {
  const toml::source_region& source = node.source();
  std::string value;
  for (toml::source_index line = source.begin.line; line <= source.end.line && line <= lines.size();
       ++line) {
    value += (value.empty() ? "" : "\n") + std::string(lines[line - 1]);
  }
  const std::size_t equals = value.find('=');
  const std::size_t begin =
      equals == std::string::npos ? std::string::npos : value.find_first_not_of(" \t", equals + 1);
  value = begin == std::string::npos ? std::string() : value.substr(begin);
  if (!value.ends_with(default_mark)) return {table, key, value, SetBy::file};
  value.resize(value.size() - default_mark.size());
  return {table, key, value, SetBy::default_value};
}

void add_settings(const Lines& lines, const toml::table& table, const std::string& name,
                  SettingsByLine& found) {
  for (const auto& [key, node] : table) {
    const std::string inner = name.empty() ? std::string(key) : name + "." + std::string(key);
    const toml::table* tables = node.as_table();
    if (tables != nullptr && !tables->is_inline()) {
      add_settings(lines, *tables, inner, found);
    } else {
      found.emplace(node.source().begin.line, setting_of(lines, name, std::string(key), node));
    }
  }
}

}  // namespace

std::vector<Setting> read_settings(const std::string& text, const std::string& file) {
  try {
    SettingsByLine found;
    add_settings(split(text, '\n'), toml::parse(std::string_view(text), std::string_view(file)), "",
                 found);
    return mapped(found, [](const auto& entry) { return entry.second; });
  } catch (const toml::parse_error& error) {
    std::ostringstream where;
    where << file << ":" << error.source().begin.line;
    throw Error(where.str() + ": this is not valid TOML: " + std::string(error.description()),
                Fault::data);
  }
}

std::vector<SettingDifference> differences(const std::vector<std::vector<Setting>>& runs) {
  std::vector<SettingDifference> found;
  std::map<std::string, std::size_t> place;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    for (const Setting& setting : runs[run]) {
      const std::string name =
          setting.table.empty() ? setting.key : setting.table + "." + setting.key;
      const auto [at, fresh] = place.try_emplace(name, found.size());
      if (fresh) found.push_back({name, std::vector<std::optional<std::string>>(runs.size())});
      found[at->second].values[run] = setting.value;
    }
  }
  std::erase_if(found, [](const SettingDifference& difference) {
    return std::ranges::all_of(
        difference.values, [&](const auto& value) { return value == difference.values.front(); });
  });
  return found;
}

}  // namespace seam::host
