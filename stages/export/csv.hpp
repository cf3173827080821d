/// Lines of comma-separated values, as in RFC 4180.
///
///     csv_line({"a.jpg", "3", "the \"best\""})     a.jpg,3,"the ""best"""
#pragma once

#include <array>
#include <charconv>
#include <string>
#include <vector>

namespace seam::stages {

/// One line including its end, "\n", which every reader accepts. Values with commas, quotes or line
/// breaks are quoted, and those that begin or end with a blank.
inline std::string csv_line(const std::vector<std::string>& values) {
  std::string line;
  for (const std::string& value : values) {
    if (&value != &values.front()) line += ',';
    const bool blank = !value.empty() && (value.front() == ' ' || value.back() == ' ');
    if (!blank && value.find_first_of(",\"\r\n") == std::string::npos) {
      line += value;
      continue;
    }
    line += '"';
    for (const char c : value) {
      if (c == '"') line += '"';
      line += c;
    }
    line += '"';
  }
  return line + '\n';
}

/// The shortest text that is read as the same number.
template <class Number>
std::string csv_number(Number number) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

}  // namespace seam::stages
