#include "pipeline/config/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "pipeline/config/source.hpp"
#include "pipeline/text/json.hpp"
#include "pipeline/text/lists.hpp"

namespace seam::host {
namespace {

constexpr std::size_t widest_line = 160;  // of the file's text shown, in characters

/// Text for a terminal: one column per character as far as possible, without control characters.
std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = length_of_character(text);
    const auto lead = static_cast<unsigned char>(text.front());
    if (lead == '\t') {
      result += ' ';
    } else if (length == 0 || lead < 0x20 || lead == 0x7f) {
      result += '?';
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return result;
}

/// The marked part of a long line, with what surrounds it.
struct Window {
  std::string line;
  std::size_t column;  ///< of the mark, from 0
  std::size_t length;
};

Window window(const Problem& problem) {
  const std::string line = printable(problem.source_line);
  const std::size_t width = characters(line);
  std::size_t column = problem.place.column > 0 ? problem.place.column - 1U : 0U;
  column = std::min(column, width);
  std::size_t from = 0;
  if (width > widest_line && column > widest_line / 2) {
    from = std::min(column - widest_line / 2, width - widest_line);
  }
  const std::size_t to = std::min(width, from + widest_line);
  Window shown;
  const std::size_t begin = byte_of_character(line, from);
  shown.line = line.substr(begin, byte_of_character(line, to) - begin);
  shown.column = column - from;
  if (from > 0) {
    shown.line = "..." + shown.line;
    shown.column += 3;
  }
  if (to < width) shown.line += "...";
  const std::size_t left = characters(shown.line) > shown.column
                               ? characters(shown.line) - shown.column
                               : std::size_t{1};
  shown.length = std::clamp<std::size_t>(problem.place.length, 1, left);
  return shown;
}

}  // namespace

std::string line_of(const Place& place) {
  return fmt::format("{}:{}", place.file, place.line);
}

bool has_errors(const std::vector<Problem>& problems) {
  return contains(problems, Severity::error, &Problem::severity);
}

std::string to_text(const Problem& problem) {
  const Place& place = problem.place;
  std::string where = printable(place.file);
  if (place.line > 0) where += fmt::format(":{}:{}", place.line, place.column);
  std::string text = fmt::format("{}{}{}: {} [{}]\n", where, where.empty() ? "" : ": ",
                                 problem.severity == Severity::error ? "error" : "warning",
                                 printable(problem.message), problem.code);
  if (place.line > 0) {
    const std::string number = std::to_string(place.line);
    const Window shown = window(problem);
    text += fmt::format("  {} | {}\n", number, shown.line);
    text += fmt::format("  {:{}} | {:{}}^{:~<{}}\n", "", number.size(), "", shown.column, "",
                        shown.length - 1);
  }
  for (const std::string& note : problem.notes) text += "  " + printable(note) + "\n";
  return text;
}

std::string to_json(const std::vector<Problem>& problems) {
  std::string text = "[";
  for (const Problem& problem : problems) {
    const Place& place = problem.place;
    text += text.size() > 1 ? ",\n " : "\n ";
    text += json_line({{"severity", problem.severity == Severity::error ? "error" : "warning"},
                       {"code", problem.code},
                       {"message", problem.message},
                       {"place",
                        {{"file", place.file},
                         {"line", place.line},
                         {"column", place.column},
                         {"length", place.length}}},
                       {"source_line", problem.source_line},
                       {"notes", problem.notes}});
  }
  return text + (problems.empty() ? "]\n" : "\n]\n");
}

}  // namespace seam::host
