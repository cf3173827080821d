#include "pipeline/config/source.hpp"

#include <algorithm>
#include <utility>

namespace seam::host {
namespace {

bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U;
}

}  // namespace

const Source& Sources::add(std::string name, std::string text) {
  Source& source = sources_.emplace_back();
  source.name = std::move(name);
  source.text = std::move(text);
  std::string_view rest = source.text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    source.lines.push_back(line);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return source;
}

const Source& Sources::add_lines(std::string name, const std::vector<std::string>& lines) {
  Source& source = sources_.emplace_back();
  source.name = std::move(name);
  for (const std::string& line : lines) source.text += line;
  std::size_t from = 0;
  for (const std::string& line : lines) {
    source.lines.push_back(std::string_view(source.text).substr(from, line.size()));
    from += line.size();
  }
  return source;
}

const Source* Sources::find(std::string_view name) const {
  const auto found = std::find_if(sources_.begin(), sources_.end(),
                                  [&](const Source& source) { return source.name == name; });
  return found == sources_.end() ? nullptr : &*found;
}

std::size_t Sources::position(std::string_view name) const {
  const auto found = std::find_if(sources_.begin(), sources_.end(),
                                  [&](const Source& source) { return source.name == name; });
  return static_cast<std::size_t>(found - sources_.begin());
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char byte) { return !continues_character(byte); }));
}

namespace {

/// Bytes of the well-formed character that the text begins with, or 0. The ranges are those of
/// table 3-7 of the Unicode standard.
std::size_t length_of_character(std::string_view text) {
  const auto byte = [&](std::size_t at) {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
  };
  const unsigned first = byte(0);
  const unsigned second = byte(1);
  if (first < 0x80) return text.empty() ? 0 : 1;
  std::size_t length = 0;
  if (first >= 0xC2 && first <= 0xDF) length = 2;
  if (first >= 0xE0 && first <= 0xEF) length = 3;
  if (first >= 0xF0 && first <= 0xF4) length = 4;
  if (length == 0 || (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
      (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) {
    return 0;
  }
  for (std::size_t at = 1; at < length; ++at) {
    if ((byte(at) & 0xC0U) != 0x80U) return 0;
  }
  return length;
}

}  // namespace

std::string as_utf8(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = length_of_character(text);
    result += length == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

bool is_utf8(std::string_view text) {
  return as_utf8(text) == text;
}

std::size_t byte_of_character(std::string_view text, std::size_t index) {
  for (std::size_t byte = 0; byte < text.size(); ++byte) {
    if (continues_character(text[byte])) continue;
    if (index-- == 0) return byte;
  }
  return text.size();
}

}  // namespace seam::host
