#include "pipeline/text/json.hpp"

#include <istream>

namespace seam::host {

std::string json_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string indented_json(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

std::string ascii_json(const Json& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

Json parse_json(const std::string& text) {
  return Json::parse(text);
}

Json try_parse_json(const std::string& text) {
  return Json::parse(text, nullptr, false);
}

Json try_parse_json(std::istream& text) {
  return Json::parse(text, nullptr, false);
}

}  // namespace seam::host
