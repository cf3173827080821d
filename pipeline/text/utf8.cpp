#include "pipeline/text/utf8.hpp"

#include <algorithm>

namespace seam::host {

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

// The ranges are those of table 3-7 of the Unicode standard.
std::size_t length_of_character(std::string_view text) {
  const auto byte = [&](std::size_t at) {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
  };
  const unsigned first = byte(0);
  const unsigned second = byte(1);
  if (first < 0x80) return text.empty() ? 0 : 1;
  std::size_t length = 0;
  if (first >= 0xC2 && first <= 0xDF) length = 2;
  if (first >= 0xE0 && first <= 0xEF) length = 3;
  if (first >= 0xF0 && first <= 0xF4) length = 4;
  if (length == 0 || (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
      (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) {
    return 0;
  }
  for (std::size_t at = 1; at < length; ++at) {
    if (at >= text.size() || begins_character(text[at])) return 0;
  }
  return length;
}

std::string as_utf8(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = length_of_character(text);
    result += length == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

bool is_utf8(std::string_view text) {
  return as_utf8(text) == text;
}

std::size_t byte_of_character(std::string_view text, std::size_t index) {
  for (std::size_t byte = 0; byte < text.size(); ++byte) {
    if (begins_character(text[byte]) && index-- == 0) return byte;
  }
  return text.size();
}

}  // namespace seam::host
