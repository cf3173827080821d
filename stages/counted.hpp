/// Numbers and names in messages: "1 item", "14,218 items", "2 queries", "0.0005", "'a.jpg', ...".
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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

/// The number in at least `width` digits: 7 as "0007".
inline std::string zero_padded(std::int64_t number, std::size_t width) {
  std::string digits = std::to_string(number);
  if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
  return digits;
}

/// A size of an image or map, width first: "40x32".
inline std::string width_by_height(std::int64_t width, std::int64_t height) {
  return std::to_string(width) + "x" + std::to_string(height);
}

/// Foreign bytes: in quotes, printable, and of limited length.
[[nodiscard]] inline std::string in_quotes(std::string_view text) {
  constexpr std::size_t longest = 100;
  std::string out = "'";
  for (const char c : text.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    out += (byte < 0x20 || byte == 0x7f) ? '?' : c;
  }
  return out + (text.size() > longest ? "...'" : "'");
}

/// "a, b, c": the first `most` names, as `text` writes them, and "..." if there are more.
template <class Names, class Text = std::identity>
std::string first_of(const Names& names, std::size_t most, const Text& text = {}) {
  std::string list;
  std::size_t shown = 0;
  for (const auto& name : names) {
    if (shown == most) return list + ", ...";
    list += (shown++ == 0 ? "" : ", ") + text(name);
  }
  return list;
}

}  // namespace seam::stages
