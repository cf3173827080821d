/// Numbers in messages: "1 item", "2 items".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace seam::stages {

/// The number and the noun, with an s for any number but one.
inline std::string counted(std::int64_t number, std::string_view noun) {
  return std::to_string(number) + " " + std::string(noun) + (number == 1 ? "" : "s");
}
inline std::string counted(std::size_t number, std::string_view noun) {
  return counted(static_cast<std::int64_t>(number), noun);
}

}  // namespace seam::stages
