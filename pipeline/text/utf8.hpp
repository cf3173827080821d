/// Characters (code points) of UTF-8 texts.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace seam::host {

/// Whether a byte begins a character.
inline bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
}
/// Bytes of the well-formed character that the text begins with, or 0.
std::size_t length_of_character(std::string_view text);
/// Number of characters; bytes that are not UTF-8 count as one each.
std::size_t characters(std::string_view text);
/// Byte position of the character with this index, or the text's size.
std::size_t byte_of_character(std::string_view text, std::size_t index);
/// Whether the text is well-formed UTF-8, as TOML and JSON must be.
bool is_utf8(std::string_view text);
/// The text with U+FFFD instead of each byte that is not valid UTF-8.
std::string as_utf8(std::string_view text);

}  // namespace seam::host
