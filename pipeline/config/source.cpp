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

std::size_t byte_of_character(std::string_view text, std::size_t index) {
  for (std::size_t byte = 0; byte < text.size(); ++byte) {
    if (continues_character(text[byte])) continue;
    if (index-- == 0) return byte;
  }
  return text.size();
}

}  // namespace seam::host
