#include <array>

#include "stages/image/formats/format.hpp"

namespace seam::stages::formats {
namespace {

bool is_space(std::uint8_t byte) {
  return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

struct Header {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t channels = 1;
  std::uint32_t maximum = 1;
};

/// Skips white space and comments, which run from '#' to the end of the line.
std::uint8_t next_byte(Reader& reader) {
  while (true) {
    std::uint8_t byte = reader.u8();
    while (byte == '#') {
      while (byte != '\n' && byte != '\r') byte = reader.u8();
    }
    if (!is_space(byte)) return byte;
  }
}

/// Also consumes the byte of white space after the number, unless the file ends there.
std::uint32_t read_number(const Encoded& encoded, Reader& reader) {
  std::uint8_t byte = next_byte(reader);
  std::uint64_t value = 0;
  while (true) {
    if (byte < '0' || byte > '9') refuse_damaged(encoded, "there is a letter instead of a number");
    value = value * 10 + (byte - '0');
    if (value > 0x7FFFFFFF) refuse_damaged(encoded, "it contains a number that is too large");
    if (reader.left() == 0) return static_cast<std::uint32_t>(value);
    byte = reader.u8();
    if (is_space(byte)) return static_cast<std::uint32_t>(value);
  }
}

std::string read_word(Reader& reader) {
  std::string word(1, static_cast<char>(next_byte(reader)));
  for (std::uint8_t byte = reader.u8(); !is_space(byte); byte = reader.u8()) {
    word += static_cast<char>(byte);
  }
  return word;
}

Header read_any_map_header(const Encoded& encoded, Reader& reader) {
  Header header;
  for (std::string word = read_word(reader); word != "ENDHDR"; word = read_word(reader)) {
    if (word == "WIDTH") {
      header.width = read_number(encoded, reader);
    } else if (word == "HEIGHT") {
      header.height = read_number(encoded, reader);
    } else if (word == "DEPTH") {
      header.channels = read_number(encoded, reader);
    } else if (word == "MAXVAL") {
      header.maximum = read_number(encoded, reader);
    } else if (word == "TUPLTYPE") {
      static_cast<void>(read_word(reader));
    } else {
      refuse_damaged(encoded, "its header contains the unknown word '" + word + "'");
    }
  }
  if (header.channels < 1 || header.channels > 4) {
    refuse_unsupported(encoded, "it has " + std::to_string(header.channels) + " channels");
  }
  return header;
}

}  // namespace

Decoded decode_portable_map(const Encoded& encoded) {
  Reader reader(encoded, 1);
  const unsigned kind = reader.u8() - '0';
  Header header;
  if (kind == 7) {
    header = read_any_map_header(encoded, reader);
  } else {
    header.width = read_number(encoded, reader);
    header.height = read_number(encoded, reader);
    const bool bits = kind == 1 || kind == 4;
    if (!bits) header.maximum = read_number(encoded, reader);
    header.channels = kind == 3 || kind == 6 ? 3 : 1;
  }
  if (header.maximum == 0 || header.maximum > 65535) {
    refuse_damaged(encoded,
                   "its header declares a largest value of " + std::to_string(header.maximum));
  }
  check_size(encoded, header.width, header.height);

  const std::size_t value_bytes = header.maximum > 255 ? 2 : 1;
  const std::size_t row_values = std::size_t{header.width} * header.channels;
  const bool plain = kind <= 3;
  const bool packed_bits = kind == 4;
  // Before pixels are allocated: a short header may declare any size.
  const std::size_t row_bytes = packed_bits ? (row_values + 7) / 8 : row_values * value_bytes;
  const std::size_t least_bytes = plain ? row_values : row_bytes;
  if (reader.left() / least_bytes < header.height) refuse_truncated(encoded);

  Decoded decoded{.image =
                      Image(static_cast<int>(header.height), static_cast<int>(header.width), 3)};
  std::uint8_t* out = decoded.image.data();
  for (std::uint32_t y = 0; y < header.height; ++y) {
    const auto row = plain ? std::span<const std::uint8_t>{} : reader.take(row_bytes);
    std::array<std::uint8_t, 4> pixel{};
    for (std::size_t i = 0; i < row_values; ++i) {
      std::uint32_t value = 0;
      switch (kind) {
        case 1:  // digits need no space between them; 1 is black
          value = next_byte(reader) == '0' ? 1 : 0;
          break;
        case 4:
          value = (row[i / 8] >> (7 - i % 8) & 1) == 0 ? 1 : 0;
          break;
        case 2:
        case 3:
          value = read_number(encoded, reader);
          break;
        default:
          value = value_bytes == 1 ? row[i] : row[2 * i] << 8U | row[2 * i + 1];
          break;
      }
      if (value > header.maximum) {
        refuse_damaged(encoded, "it contains a value of " + std::to_string(value) +
                                    ", above its declared maximum of " +
                                    std::to_string(header.maximum));
      }
      const std::size_t channel = i % header.channels;
      pixel.at(channel) = to_byte(value, header.maximum);
      if (channel + 1 == header.channels) {
        const bool grey = header.channels <= 2;  // the second and the fourth are alpha
        for (std::size_t c = 0; c < 3; ++c) *out++ = pixel.at(grey ? 0 : c);
      }
    }
  }
  return decoded;
}

}  // namespace seam::stages::formats
