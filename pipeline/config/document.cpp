#include "pipeline/config/document.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <sstream>
#include <tuple>
#include <utility>

// The only file that knows toml++: it costs seconds to compile.
#include <toml++/toml.h>

#include "pipeline/text/lists.hpp"

namespace seam::host {
namespace {

/// Characters from the region's begin to its end, or to the end of its first line.
Place place_of(const toml::source_region& region, const SourceText& source) {
  Place place{source.name, region.begin.line, region.begin.column, 1};
  if (region.end.line == region.begin.line) {
    if (region.end.column > region.begin.column) {
      place.length = region.end.column - region.begin.column;
    }
  } else {
    const std::size_t width = characters(source.line(place.line));
    if (width + 1 > place.column) {
      place.length = static_cast<std::uint32_t>(width + 1 - place.column);
    }
  }
  return place;
}

Node convert(const toml::node& node, const SourceText& source);

Table convert_table(const toml::table& table, const SourceText& source) {
  Table result;
  for (const auto& [key, value] : table) {
    result.entries.push_back(
        {std::string(key.str()), place_of(key.source(), source), convert(value, source)});
  }
  // toml++ sorts by key; people read by line.
  std::ranges::stable_sort(result.entries, {}, [](const Entry& entry) {
    return std::tuple(entry.key_place.line, entry.key_place.column);
  });
  return result;
}

template <class Date>
Moment moment(const Date& date) {
  std::ostringstream text;
  text << date;
  return {text.str()};
}

Node convert(const toml::node& node, const SourceText& source) {
  Node result;
  result.place = place_of(node.source(), source);
  if (const auto* flag = node.as_boolean()) {
    result.value = flag->get();
  } else if (const auto* integer = node.as_integer()) {
    result.value = integer->get();
  } else if (const auto* number = node.as_floating_point()) {
    result.value = number->get();
  } else if (const auto* text = node.as_string()) {
    result.value = text->get();
  } else if (const auto* array = node.as_array()) {
    Array elements;
    for (const toml::node& element : *array) elements.push_back(convert(element, source));
    result.value = std::move(elements);
  } else if (const auto* table = node.as_table()) {
    result.value = convert_table(*table, source);
  } else if (const auto* date = node.as_date()) {
    result.value = moment(date->get());
  } else if (const auto* time = node.as_time()) {
    result.value = moment(time->get());
  } else if (const auto* both = node.as_date_time()) {
    result.value = moment(both->get());
  }
  return result;
}

/// Finds the source positions of the bytes of a string value, walking from its opening quote.
class LiteralWalk {
 public:
  LiteralWalk(const SourceText& source, const Place& start)
      : line_(start.line), column_(start.column) {
    const std::string_view line = source.line(start.line);
    if (line.data() == nullptr) return;
    const auto line_begin = static_cast<std::size_t>(line.data() - source.text.data());
    rest_ = std::string_view(source.text)
                .substr(line_begin + byte_of_character(line, start.column - 1));
    open();
  }

  /// Advances by this many bytes of the value.
  void advance(std::size_t bytes) {
    while (bytes > 0 && !rest_.empty()) {
      const std::size_t made = step();
      bytes -= std::min(made, bytes);
    }
    if (escapes_) skip_line_continuation();
  }

  [[nodiscard]] std::uint32_t line() const { return line_; }
  [[nodiscard]] std::uint32_t column() const { return column_; }

 private:
  void open() {
    if (rest_.starts_with("\"\"\"") || rest_.starts_with("'''")) {
      escapes_ = rest_.front() == '"';
      take(3);
      if (rest_.starts_with("\r\n")) take(1);
      if (rest_.starts_with("\n")) take(1);
    } else if (rest_.starts_with('"') || rest_.starts_with('\'')) {
      escapes_ = rest_.front() == '"';
      take(1);
    }
  }

  void take(std::size_t bytes) {
    for (std::size_t i = 0; i < bytes && !rest_.empty(); ++i) {
      const char byte = rest_.front();
      rest_.remove_prefix(1);
      if (byte == '\n') {
        ++line_;
        column_ = 1;
      } else if (rest_.empty() || begins_character(rest_.front())) {
        ++column_;  // at the last byte of a character
      }
    }
  }

  void skip_line_continuation() {
    while (rest_.starts_with("\\\n") || rest_.starts_with("\\\r\n")) {
      take(1);
      take(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
    }
  }

  /// Advances by one character as written; returns the number of bytes it has in the value.
  std::size_t step() {
    if (escapes_) skip_line_continuation();
    if (!escapes_ || !rest_.starts_with('\\') || rest_.size() < 2) {
      take(1);
      return 1;
    }
    const char kind = rest_[1];
    const std::size_t digits = kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
    std::uint32_t code = 0;
    for (const char digit : rest_.substr(2, digits)) {
      const int value = digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10;
      code = code * 16 + static_cast<std::uint32_t>(value);
    }
    take(2 + digits);
    return digits == 0 ? 1 : code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }

  std::string_view rest_;
  std::uint32_t line_;
  std::uint32_t column_;
  bool escapes_ = false;
};

bool is_value(std::string_view text) {
  try {
    return !toml::parse("v = " + std::string(text)).empty();
  } catch (const toml::parse_error&) {
    return false;
  }
}

/// The bare word in place of a value, as in `name = demo`; empty if there is none.
std::string_view bare_word(const SourceText& source, const Place& place) {
  const std::string_view line = source.line(place.line);
  const std::size_t begin = byte_of_character(line, place.column - 1);
  const std::size_t before = line.substr(0, begin).find_last_not_of(" \t");
  if (before != std::string_view::npos &&
      std::string_view("=,[").find(line[before]) == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = line.substr(begin);
  std::string_view word = rest.substr(0, rest.find_first_of(" \t\r\n,]#'\"="));
  if (word.find('{') == std::string_view::npos) word = word.substr(0, word.find('}'));
  const bool like_a_text =
      !word.empty() && (std::isalpha(static_cast<unsigned char>(word.front())) != 0 ||
                        std::string_view("~/$_").find(word.front()) != std::string_view::npos);
  // Neither a key, nor a valid value: its error is a different one, such as a key that occurs
  // twice.
  const std::size_t behind = rest.find_first_not_of(" \t", word.size());
  const bool is_key = behind != std::string_view::npos && rest[behind] == '=';
  return like_a_text && !is_key && !is_value(word) ? word : std::string_view();
}

/// Returns what to write instead of a bare word.
std::string instead_of(std::string_view word) {
  std::string small(word);
  std::ranges::transform(small, small.begin(), [](unsigned char c) { return std::tolower(c); });
  if (small == "true" || small == "false") return "write it in lowercase: " + small;
  std::string text(word);
  if (text.starts_with("~/")) text.replace(0, 1, "${HOME}");  // only a shell knows ~
  return "text needs quotes: \"" + text + "\"";
}

}  // namespace

const Node* Table::at(std::initializer_list<std::string_view> keys) const {
  const Table* table = this;
  const Node* node = nullptr;
  for (const std::string_view key : keys) {
    const Entry* entry = table != nullptr ? table->find(key) : nullptr;
    if (entry == nullptr) return nullptr;
    node = &entry->node;
    table = node->table();
  }
  return node;
}

const Entry* Table::find(std::string_view key) const {
  return find_in(entries, key, &Entry::key);
}

Entry* Table::find(std::string_view key) {
  return const_cast<Entry*>(std::as_const(*this).find(key));  // *this is not const here
}

std::string kind_of(const Node& node) {
  static constexpr std::array kinds{"true or false", "an integer", "a number",      "a text",
                                    "a list",        "a table",    "a date or time"};
  static_assert(kinds.size() == std::variant_size_v<decltype(node.value)>);
  return kinds[node.value.index()];
}

Node read_document(const SourceText& source, Findings& findings) {
  Node broken{Table{}, {}, {}, true};
  try {
    return {convert_table(toml::parse(std::string_view(source.text), source.name), source),
            {source.name, 0, 0, 1},
            {}};
  } catch (const toml::parse_error& error) {
    Place place = place_of(error.source(), source);
    if (place.column > characters(source.line(place.line)) + 1) place.column = 1;
    if (const std::string_view word = bare_word(source, place); !word.empty()) {
      place.length = static_cast<std::uint32_t>(characters(word));
      findings.error("toml-syntax", place,
                     "this is not valid TOML: '" + std::string(word) + "' is not a value",
                     {instead_of(word)});
      return broken;
    }
    const bool at_end = place.column > characters(source.line(place.line));
    findings.error("toml-syntax", place,
                   "this is not valid TOML: " + std::string(error.description()),
                   {at_end ? "the line ends too early: a quote, a bracket or a value is missing"
                           : std::string{}});
  }
  return broken;
}

Node read_set_value(const std::string& text, const Place& place) {
  Node bare;
  bare.value = text;
  bare.place = place;
  bare.place.length = static_cast<std::uint32_t>(std::max<std::size_t>(1, characters(text)));
  if (text.find_first_of("\r\n") != std::string::npos) return bare;
  constexpr std::string_view key = "v=";
  Sources sources;
  const SourceText& source = sources.add(place.file, std::string(key) + text);
  std::optional<Node> read;
  try {
    const toml::table table = toml::parse(std::string_view(source.text), source.name);
    if (table.size() == 1) read = convert_table(table, source).entries.front().node;
  } catch (const toml::parse_error&) {
    return bare;  // a text needs no quotes here
  }
  if (!read || std::holds_alternative<Moment>(read->value)) return bare;
  const auto move = [&](Node& node, const auto& self) -> void {
    const auto shifted = [&](Place& moved) {
      moved.line = place.line;
      moved.column += place.column - static_cast<std::uint32_t>(key.size()) - 1;
    };
    shifted(node.place);
    if (auto* array = std::get_if<Array>(&node.value)) {
      for (Node& element : *array) self(element, self);
    } else if (Table* table = node.table()) {
      for (Entry& entry : table->entries) {
        shifted(entry.key_place);
        self(entry.node, self);
      }
    }
  };
  move(*read, move);
  return std::move(*read);
}

Place place_inside(const Sources& sources, const Node& text, std::size_t offset,
                   std::size_t length) {
  const SourceText* source = sources.find(text.place.file);
  if (source == nullptr || text.place.line == 0) return text.place;
  const auto written = [&](std::size_t index) -> std::size_t {
    if (text.written.empty()) return index;
    return index < text.written.size() ? text.written[index] : text.written.back() + 1U;
  };
  const std::size_t from = written(offset);
  LiteralWalk walk(*source, text.place);
  walk.advance(from);
  Place place{text.place.file, walk.line(), walk.column(), 1};
  if (length > 1) {
    walk.advance(written(offset + length - 1) - from);
    if (walk.line() == place.line) place.length = walk.column() - place.column + 1;
  }
  return place;
}

}  // namespace seam::host
