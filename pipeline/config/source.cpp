#include "pipeline/config/source.hpp"

#include <algorithm>
#include <utility>

#include "pipeline/text/lists.hpp"
#include "pipeline/text/parse.hpp"

namespace seam::host {
const SourceText& Sources::add(std::string name, std::string text) {
  SourceText& source = sources_.emplace_back();
  source.name = std::move(name);
  source.text = std::move(text);
  source.lines = split(source.text, '\n');
  for (std::string_view& line : source.lines) {
    if (line.ends_with('\r')) line.remove_suffix(1);
  }
  return source;
}

const SourceText& Sources::add_lines(std::string name, const std::vector<std::string>& lines) {
  SourceText& source = sources_.emplace_back();
  source.name = std::move(name);
  for (const std::string& line : lines) source.text += line;
  std::size_t from = 0;
  for (const std::string& line : lines) {
    source.lines.push_back(std::string_view(source.text).substr(from, line.size()));
    from += line.size();
  }
  return source;
}

const SourceText* Sources::find(std::string_view name) const {
  return find_in(sources_, name, &SourceText::name);
}

std::size_t Sources::position(std::string_view name) const {
  return static_cast<std::size_t>(std::ranges::find(sources_, name, &SourceText::name) -
                                  sources_.begin());
}

}  // namespace seam::host
