/// Terminal output: width, colours and the displayed width of a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace seam::host {

/// The properties of an output stream.
struct Screen {
  static constexpr std::size_t usual_width = 80;

  std::size_t width = usual_width;
  bool colour = false;

  friend bool operator==(const Screen&, const Screen&) = default;
};

/// The width of the terminal of a file descriptor; nullopt if it is not a terminal or its width is
/// unknown.
std::optional<std::size_t> terminal_width(int descriptor);

/// The value of `--color`.
enum class ColourUse : std::uint8_t { automatic, always, never };

/// The screen of a file descriptor. By default it is in colour if it is a terminal other than
/// "dumb" and NO_COLOR (no-color.org) is not set or empty. Reads the environment.
Screen screen_of(int descriptor, ColourUse use);

enum class Paint : std::uint8_t { plain, bold, dim, red, green, yellow, cyan };
/// Returns the text between escape sequences, or unchanged.
std::string painted(const Screen& screen, Paint paint, std::string_view text);

/// The number of columns of a text: its number of characters, unless there are wide ones. Escape
/// sequences take none.
std::size_t columns_of(std::string_view text);
/// The first `width` columns of a text without escape sequences; characters are never split.
std::string cut(std::string_view text, std::size_t width);
/// The same, but a text that is too long keeps its end, after an ellipsis: "…dicted.r@10".
std::string cut_front(std::string_view text, std::size_t width);

}  // namespace seam::host
