/// Writes JSON on one line, for programs that read what a run leaves.
///
///     JsonObject().add("stage", "loss").add("value", 0.25).text()   {"stage":"loss","value":0.25}
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace seam::host {

/// Quoted and escaped; bytes that are no UTF-8 become U+FFFD.
std::string json_text(std::string_view text);
/// The shortest text that reads back as the same number; null for nan, 1e999 for infinity, which
/// readers turn back into infinity.
std::string json_number(double number);

class JsonArray {
 public:
  JsonArray& add(std::string_view text) { return add_raw(json_text(text)); }
  /// Text that is JSON already.
  JsonArray& add_raw(std::string_view json);
  [[nodiscard]] std::string text() const { return "[" + body_ + "]"; }

 private:
  std::string body_;
};

class JsonObject {
 public:
  JsonObject& add(std::string_view key, std::string_view text) {
    return add_raw(key, json_text(text));
  }
  JsonObject& add(std::string_view key, const char* text) {
    return add(key, std::string_view(text));
  }
  JsonObject& add(std::string_view key, double number) { return add_raw(key, json_number(number)); }
  JsonObject& add(std::string_view key, bool flag) { return add_raw(key, flag ? "true" : "false"); }
  template <std::integral T>
  JsonObject& add(std::string_view key, T integer) {
    return add_raw(key, std::to_string(integer));
  }
  JsonObject& add(std::string_view key, const std::vector<std::string>& texts);
  /// Text that is JSON already.
  JsonObject& add_raw(std::string_view key, std::string_view json);
  [[nodiscard]] std::string text() const { return "{" + body_ + "}"; }

 private:
  std::string body_;
};

}  // namespace seam::host
