/// TOML parsed into a tree that keeps source locations, so that every message can point at its
/// cause.
///
///     a.toml ──► SourceText (lines) ──► Node ┬ value: 0.5, "a -> b", table, ...
///                                            └ place: a.toml:7:10, 3 characters
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pipeline/config/findings.hpp"
#include "pipeline/config/pipeline_spec.hpp"
#include "pipeline/config/source.hpp"

namespace seam::host {

struct Node;
struct Entry;

using Array = std::vector<Node>;

/// Keys in the order of the file.
struct Table {
  std::vector<Entry> entries;

  [[nodiscard]] const Entry* find(std::string_view key) const;
  [[nodiscard]] Entry* find(std::string_view key);
  /// The value at these keys, each in the table of the one before it; null if there is none.
  [[nodiscard]] const Node* at(std::initializer_list<std::string_view> keys) const;
};

/// A date or a time, which TOML has and pipelines do not use.
struct Moment {
  std::string text;
};

struct Node {
  std::variant<bool, std::int64_t, double, std::string, Array, Table, Moment> value;
  Place place;
  /// For texts after ${VAR}: where in the written text each character comes from. Empty: as
  /// written.
  std::vector<std::uint32_t> written;
  /// Invalid, and already reported; no further errors are reported for it.
  bool broken = false;

  [[nodiscard]] const std::string* text() const { return std::get_if<std::string>(&value); }
  [[nodiscard]] const Table* table() const { return std::get_if<Table>(&value); }
  [[nodiscard]] Table* table() { return std::get_if<Table>(&value); }
  [[nodiscard]] const Array* array() const { return std::get_if<Array>(&value); }
};

struct Entry {
  std::string key;
  Place key_place;
  Node node;
  /// The stage from whose table `like` took it; otherwise empty.
  std::string inherited_from = {};
};

/// "a table", "a text", ...: for messages.
std::string kind_of(const Node& node);

/// Parses a TOML text. On an error, reports it and returns a broken node.
Node read_document(const SourceText& source, Findings& findings);

/// Reads a value of --set: as TOML if it is valid TOML, otherwise as a bare string. `column` is its
/// position in the line.
Node read_set_value(const std::string& text, const Place& place);

/// The place of some characters inside a text value, through quotes, escapes and variables.
Place place_inside(const Sources& sources, const Node& text, std::size_t offset,
                   std::size_t length);

}  // namespace seam::host
