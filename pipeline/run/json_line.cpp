#include "pipeline/run/json_line.hpp"

namespace seam::host {

std::string json_line(const Json& json) {
  constexpr int on_one_line = -1;
  return json.dump(on_one_line, ' ', false, Json::error_handler_t::replace);
}

}  // namespace seam::host
