/// The source texts of a pipeline, by their names in messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/text/utf8.hpp"

namespace seam::host {

struct SourceText {
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
  const SourceText& add(std::string name, std::string text);
  /// The command line's --set options, one per line.
  const SourceText& add_lines(std::string name, const std::vector<std::string>& lines);
  [[nodiscard]] const SourceText* find(std::string_view name) const;
  /// Position in the order of reading; the number of sources for a name that is not known.
  [[nodiscard]] std::size_t position(std::string_view name) const;

 private:
  std::deque<SourceText> sources_;  // a deque: growing moves nothing
};

}  // namespace seam::host
