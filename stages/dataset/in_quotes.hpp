/// Foreign bytes for use in a message: in quotes, printable, and of limited length.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace seam::stages {

[[nodiscard]] inline std::string in_quotes(std::string_view text) {
  constexpr std::size_t longest = 100;
  std::string out = "'";
  for (const char c : text.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    out += (byte < 0x20 || byte == 0x7f) ? '?' : c;
  }
  return out + (text.size() > longest ? "...'" : "'");
}

}  // namespace seam::stages
