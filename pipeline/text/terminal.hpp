/// Text for a terminal: its width, colours where they are wanted, how much room a text takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace seam::host {

/// What a text is printed on.
struct Screen {
  static constexpr std::size_t usual_width = 80;

  std::size_t width = usual_width;
  bool colour = false;

  friend bool operator==(const Screen&, const Screen&) = default;
};

/// How wide the terminal behind a file descriptor is; none: it is no terminal, or does not say.
std::optional<std::size_t> terminal_width(int descriptor);

/// What `--color` says.
enum class ColourUse : std::uint8_t { automatic, always, never };

/// The screen behind a file descriptor. In colour by itself where it is a terminal that knows more
/// than "dumb" and NO_COLOR (no-color.org) is not set to anything. Reads the environment.
Screen screen_of(int descriptor, ColourUse use);

enum class Paint : std::uint8_t { plain, bold, dim, red, green, yellow, cyan };
/// The text between escape sequences, or as it is.
std::string painted(const Screen& screen, Paint paint, std::string_view text);

/// How many columns a text takes: its characters, if none is a wide one. Escape sequences take
/// none.
std::size_t columns_of(std::string_view text);
/// The first `width` columns of a text without escape sequences; never half a character.
std::string cut(std::string_view text, std::size_t width);
/// The same, with an ellipsis in front of its end where it was too long: "…dicted.r@10".
std::string cut_front(std::string_view text, std::size_t width);

}  // namespace seam::host
