#include "pipeline/run/json_line.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace seam::host {

std::string json_line(const Json& json) {
  constexpr int on_one_line = -1;
  return json.dump(on_one_line, ' ', false, Json::error_handler_t::replace);
}

std::string number_text(double number) {
  if (std::isnan(number)) return "null";
  if (std::isinf(number)) return number > 0 ? "1e999" : "-1e999";
  std::array<char, 32> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  return {buffer.data(), result.ptr};
}

}  // namespace seam::host
