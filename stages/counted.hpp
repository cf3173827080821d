/// Numbers in messages: "1 item", "14,218 items", "2 queries", "0.0005".
#pragma once

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>

namespace seam::stages {

/// 14218 as "14,218".
inline std::string grouped(std::int64_t number) {
  const std::string digits = std::to_string(number);
  const std::size_t first = number < 0 ? 1 : 0;
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > first && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

/// The number and the noun: `many` for any number but one, by default with an s.
inline std::string counted(std::int64_t number, std::string_view one, std::string_view many = {}) {
  std::string text = grouped(number) + " " + std::string(number == 1 || many.empty() ? one : many);
  if (number != 1 && many.empty()) text += 's';
  return text;
}
inline std::string counted(std::size_t number, std::string_view one, std::string_view many = {}) {
  return counted(static_cast<std::int64_t>(number), one, many);
}

/// Six digits of it, in the form that is shorter: "0.0005", "1e-07", "nan".
inline std::string text_of(double number) {
  std::ostringstream text;
  text << number;
  return text.str();
}

}  // namespace seam::stages
