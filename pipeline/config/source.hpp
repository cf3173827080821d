/// The source texts of a pipeline, by their names in messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace seam::host {

struct Source {
  std::string name;
  std::string text;
  std::vector<std::string_view> lines;  ///< into text, without line ends

  /// The line, from 1; empty if there is none.
  [[nodiscard]] std::string_view line(std::uint32_t number) const {
    return number >= 1 && number <= lines.size() ? lines[number - 1] : std::string_view{};
  }
};

/// All sources in the order of reading. References stay valid.
class Sources {
 public:
  const Source& add(std::string name, std::string text);
  /// The command line's --set options, one per line.
  const Source& add_lines(std::string name, const std::vector<std::string>& lines);
  [[nodiscard]] const Source* find(std::string_view name) const;
  /// Position in the order of reading; the number of sources for a name that is not known.
  [[nodiscard]] std::size_t position(std::string_view name) const;

 private:
  std::deque<Source> sources_;  // a deque: growing moves nothing
};

/// Number of characters (code points) in UTF-8 text; bytes that are not UTF-8 count as one each.
std::size_t characters(std::string_view text);
/// Whether the text is well-formed UTF-8, as TOML and JSON must be.
bool is_utf8(std::string_view text);
/// The text with U+FFFD instead of each byte that is not valid UTF-8.
std::string as_utf8(std::string_view text);
/// Byte position of the character with this index, or the text's size.
std::size_t byte_of_character(std::string_view text, std::size_t index);

}  // namespace seam::host
