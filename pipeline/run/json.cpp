#include "pipeline/run/json.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace seam::host {
namespace {

/// How many bytes the UTF-8 character at the front has; 0 where it is none (RFC 3629: no overlong
/// forms, no surrogates, nothing above U+10FFFF).
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  std::size_t length = 0;
  unsigned char least = 0x80;  // of the second byte
  unsigned char most = 0xBF;
  if (first >= 0xC2 && first <= 0xDF) length = 2;
  if (first >= 0xE0 && first <= 0xEF) length = 3;
  if (first >= 0xF0 && first <= 0xF4) length = 4;
  if (first == 0xE0) least = 0xA0;
  if (first == 0xED) most = 0x9F;
  if (first == 0xF0) least = 0x90;
  if (first == 0xF4) most = 0x8F;
  if (length == 0 || text.size() < length || byte(1) < least || byte(1) > most) return 0;
  for (std::size_t at = 2; at < length; ++at) {
    if ((byte(at) & 0xC0U) != 0x80) return 0;
  }
  return length;
}

}  // namespace

std::string json_text(std::string_view text) {
  std::string result = "\"";
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const char c = text.front();
    if (length == 0) {
      result += "\\ufffd";
    } else if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (c == '\t') {
      result += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(c));
      result += escape.data();
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result + "\"";
}

std::string json_number(double number) {
  if (std::isnan(number)) return "null";
  if (std::isinf(number)) return number > 0 ? "1e999" : "-1e999";
  std::array<char, 32> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  return {buffer.data(), result.ptr};
}

JsonArray& JsonArray::add_raw(std::string_view json) {
  if (!body_.empty()) body_ += ',';
  body_ += json;
  return *this;
}

JsonObject& JsonObject::add(std::string_view key, const std::vector<std::string>& texts) {
  JsonArray array;
  for (const std::string& text : texts) array.add(text);
  return add_raw(key, array.text());
}

JsonObject& JsonObject::add_raw(std::string_view key, std::string_view json) {
  if (!body_.empty()) body_ += ',';
  body_ += json_text(key);
  body_ += ':';
  body_ += json;
  return *this;
}

}  // namespace seam::host
