/// JSON output for other programs; values keep their insertion order.
///
///     json_line({{"stage", "loss"}, {"value", 0.25}})     {"stage":"loss","value":0.25}
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace seam::host {

using Json = nlohmann::ordered_json;

/// On one line; invalid UTF-8 bytes become U+FFFD, and numbers that JSON cannot represent become
/// null.
inline std::string json_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// A list with the function's result for each element.
template <class List, class Function>
Json list_json(const List& list, const Function& function) {
  Json json = Json::array();
  for (const auto& element : list) json.push_back(function(element));
  return json;
}

}  // namespace seam::host
