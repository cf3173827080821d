#include "pipeline/text/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "pipeline/text/utf8.hpp"

namespace seam::host {
namespace {

constexpr char escape = '\x1b';
constexpr std::string_view ellipsis = "…";

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): never set by the program
  return value == nullptr ? std::string_view() : std::string_view(value);
}

/// ECMA-48, 8.3.117: select graphic rendition. In the order of the enumeration.
constexpr std::array<std::string_view, 7> codes{"",         "\x1b[1m",  "\x1b[2m", "\x1b[31m",
                                                "\x1b[32m", "\x1b[33m", "\x1b[36m"};

}  // namespace

std::optional<std::size_t> terminal_width(int descriptor) {
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col < 2) return std::nullopt;
  return size.ws_col;
}

Screen screen_of(int descriptor, ColourUse use) {
  Screen screen;
  const bool terminal = ::isatty(descriptor) == 1;
  screen.width = terminal_width(descriptor).value_or(Screen::usual_width);
  const std::string_view kind = variable("TERM");
  const bool able = terminal && !kind.empty() && kind != "dumb" && variable("NO_COLOR").empty();
  screen.colour = use == ColourUse::always || (use == ColourUse::automatic && able);
  return screen;
}

std::string painted(const Screen& screen, Paint paint, std::string_view text) {
  if (!screen.colour || paint == Paint::plain || text.empty()) return std::string(text);
  return std::string(codes.at(static_cast<std::size_t>(paint))) + std::string(text) + "\x1b[0m";
}

std::size_t columns_of(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == escape) {
      while (at < text.size() && text[at] != 'm') ++at;
    } else if (begins_character(text[at])) {
      ++count;
    }
  }
  return count;
}

std::string cut(std::string_view text, std::size_t width) {
  return std::string(text.substr(0, byte_of_character(text, width)));
}

std::string cut_front(std::string_view text, std::size_t width) {
  const std::size_t whole = columns_of(text);
  if (whole <= width) return std::string(text);
  if (width == 0) return {};
  const std::string begin = cut(text, whole - width + 1);
  return std::string(ellipsis) + std::string(text.substr(begin.size()));
}

}  // namespace seam::host
