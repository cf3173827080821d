/// JSON for and from other programs; values keep their insertion order.
///
///     json_line({{"stage", "loss"}, {"value", 0.25}})     {"stage":"loss","value":0.25}
///
/// Text is parsed and written in json.cpp only: a source that calls Json::parse() or dump() takes
/// seconds longer to compile.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>

namespace seam::host {

using Json = nlohmann::ordered_json;

/// On one line; invalid UTF-8 bytes become U+FFFD, and numbers that JSON cannot represent become
/// null.
std::string json_line(const Json& json);

/// The same, one value per line.
std::string indented_json(const Json& json);

/// On one line, with only ASCII characters.
std::string ascii_json(const Json& json);

/// Throws Json::exception for text that is not JSON.
Json parse_json(const std::string& text);

/// Returns a discarded value, which is neither an object nor an array, for text that is not JSON.
Json try_parse_json(const std::string& text);
Json try_parse_json(std::istream& text);

/// A list with the function's result for each element.
template <class List, class Function>
Json list_json(const List& list, const Function& function) {
  Json json = Json::array();
  for (const auto& element : list) json.push_back(function(element));
  return json;
}

}  // namespace seam::host
