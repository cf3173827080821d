#include "pipeline/config/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "pipeline/text/lists.hpp"
#include "pipeline/text/nearest.hpp"

namespace seam::host {
namespace {

void refuse_value(const Entry& entry, const std::string& where, const std::string& accepted,
                  Findings& findings) {
  findings.error(
      "type", entry.node.place,
      fmt::format("'{}' of {} takes {}, not {}", entry.key, where, accepted, kind_of(entry.node)));
}

std::string accepted_integer(std::int64_t least) {
  return fmt::format("an integer of at least {}", least);
}

std::optional<double> unit_size(std::string_view unit) {
  static constexpr std::array<std::pair<std::string_view, double>, 10> units{{{"", 1.0},
                                                                              {"B", 1.0},
                                                                              {"kB", 1e3},
                                                                              {"MB", 1e6},
                                                                              {"GB", 1e9},
                                                                              {"TB", 1e12},
                                                                              {"KiB", 0x1p10},
                                                                              {"MiB", 0x1p20},
                                                                              {"GiB", 0x1p30},
                                                                              {"TiB", 0x1p40}}};
  for (const auto& [name, size] : units) {
    if (name == unit) return size;
  }
  return std::nullopt;
}

std::optional<std::int64_t> parse_bytes(std::string_view text) {
  double count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{}) return std::nullopt;
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  const std::optional<double> size = unit_size(unit);
  if (!size || !std::isfinite(count)) return std::nullopt;
  const double bytes = std::floor(count * *size);
  if (bytes < 1 || bytes > 0x1p60) return std::nullopt;
  return static_cast<std::int64_t>(bytes);
}

}  // namespace

void refuse_unknown_keys(const Table& table, const std::string& where,
                         const std::vector<std::string>& known, Findings& findings) {
  for (const Entry& entry : table.entries) {
    if (contains(known, entry.key)) continue;
    findings.error("unknown-key", entry.key_place,
                   fmt::format("'{}' is not a key of {}", entry.key, where),
                   {did_you_mean(entry.key, known), "it takes: " + enumerated(known)});
  }
}

std::optional<std::int64_t> read_integer(const Entry& entry, const std::string& where,
                                         std::int64_t least, Findings& findings) {
  if (entry.node.broken) return std::nullopt;
  const auto* integer = std::get_if<std::int64_t>(&entry.node.value);
  if (integer == nullptr) {
    refuse_value(entry, where, accepted_integer(least), findings);
    return std::nullopt;
  }
  if (*integer < least) {
    findings.error("range", entry.node.place,
                   fmt::format("'{}' of {} takes {}, not {}", entry.key, where,
                               accepted_integer(least), *integer));
    return std::nullopt;
  }
  return *integer;
}

std::optional<std::string> read_text(const Entry& entry, const std::string& where,
                                     Findings& findings) {
  if (entry.node.broken) return std::nullopt;
  if (const std::string* text = entry.node.text()) return *text;
  refuse_value(entry, where, "a text", findings);
  return std::nullopt;
}

std::vector<const Node*> read_texts(const Entry& entry, const std::string& where,
                                    Findings& findings) {
  if (entry.node.text() != nullptr) {
    return entry.node.broken ? std::vector<const Node*>{} : std::vector{&entry.node};
  }
  const Array* array = entry.node.array();
  if (array == nullptr) {
    refuse_value(entry, where, "a list of texts", findings);
    return {};
  }
  std::vector<const Node*> texts;
  for (const Node& element : *array) {
    if (element.text() == nullptr) {
      findings.error(
          "type", element.place,
          fmt::format("'{}' of {} lists texts, not {}", entry.key, where, kind_of(element)));
    } else if (!element.broken) {
      texts.push_back(&element);
    }
  }
  return texts;
}

std::optional<std::int64_t> read_bytes(const Entry& entry, const std::string& where,
                                       Findings& findings) {
  if (entry.node.broken) return std::nullopt;
  if (entry.node.text() == nullptr) {
    if (std::holds_alternative<std::int64_t>(entry.node.value)) {
      return read_integer(entry, where, 1, findings);
    }
    refuse_value(entry, where, "a number of bytes or a text such as \"512 MiB\"", findings);
    return std::nullopt;
  }
  const std::optional<std::int64_t> bytes = parse_bytes(*entry.node.text());
  if (!bytes) {
    findings.error(
        "range", entry.node.place,
        fmt::format("'{}' of {} takes a number of bytes or a text such as \"512 MiB\", not \"{}\"",
                    entry.key, where, *entry.node.text()),
        {"units: B, kB, MB, GB, TB, KiB, MiB, GiB, TiB"});
  }
  return bytes;
}

const Table* read_table(const Entry& entry, const std::string& where, Findings& findings) {
  const Table* table = entry.node.table();
  if (table == nullptr && !entry.node.broken) {
    findings.error("type", entry.node.place,
                   fmt::format("{} is a table, not {}", where, kind_of(entry.node)));
  }
  return table;
}

const Table* read_table(const Table& tree, const std::string& key, Findings& findings) {
  const Entry* entry = tree.find(key);
  return entry != nullptr ? read_table(*entry, "[" + key + "]", findings) : nullptr;
}

}  // namespace seam::host
