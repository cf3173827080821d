#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <vector>

#include "stages/image/formats/format.hpp"

namespace seam::stages::formats {
namespace {

using BmpColour = std::array<std::uint8_t, 3>;

enum class Compression : std::uint32_t {
  none = 0,
  rle8 = 1,
  rle4 = 2,
  fields = 3,
  alpha_fields = 6
};

constexpr std::size_t file_header_bytes = 14;

struct BmpHeader {
  std::uint32_t pixels_at = 0;
  std::uint32_t bytes = 0;  // size of the information header
  std::int64_t width = 0;
  std::int64_t height = 0;
  bool top_down = false;
  unsigned bits = 0;  // per pixel
  Compression compression = Compression::none;
  std::uint32_t colours = 0;
  std::array<std::uint32_t, 3> masks{};
  std::size_t palette_at = 0;
};

bool is_core(const BmpHeader& header) {
  return header.bytes == 12;
}

std::array<std::uint32_t, 3> read_masks(Reader& reader) {
  std::array<std::uint32_t, 3> masks{};
  for (std::uint32_t& mask : masks) mask = reader.u32_little();
  return masks;
}

BmpHeader read_bmp_header(const Encoded& encoded) {
  BmpHeader header;
  Reader reader(encoded, 10);
  header.pixels_at = reader.u32_little();
  header.bytes = reader.u32_little();
  constexpr std::array<std::uint32_t, 8> known{12, 16, 40, 52, 56, 64, 108, 124};
  if (std::ranges::find(known, header.bytes) == known.end()) {
    refuse_damaged(encoded,
                   "its header declares a size of " + std::to_string(header.bytes) + " bytes");
  }
  if (is_core(header)) {
    header.width = reader.u16_little();
    header.height = reader.u16_little();
  } else {
    header.width = static_cast<std::int32_t>(reader.u32_little());
    const auto height = std::int64_t{static_cast<std::int32_t>(reader.u32_little())};
    header.top_down = height < 0;
    header.height = std::abs(height);
  }
  reader.skip(2);  // planes; other readers ignore it too
  header.bits = reader.u16_little();
  if (header.bytes >= 40) {
    header.compression = static_cast<Compression>(reader.u32_little());
    reader.skip(12);
    header.colours = reader.u32_little();
    reader.skip(4);
  }
  header.palette_at = file_header_bytes + header.bytes;
  if (header.width < 0) refuse_damaged(encoded, "its width is negative");
  check_size(encoded, static_cast<std::uint64_t>(header.width),
             static_cast<std::uint64_t>(header.height));

  switch (header.compression) {
    case Compression::none:
      if (header.bits == 16) header.masks = {0x7C00, 0x03E0, 0x001F};
      if (header.bits == 32) header.masks = {0xFF0000, 0x00FF00, 0x0000FF};
      break;
    case Compression::fields:
    case Compression::alpha_fields:
      if (header.bytes == 64) refuse_unsupported(encoded, "it is packed as a facsimile");
      header.masks = read_masks(reader);  // within the header or directly after it
      if (header.bytes == 40) {
        header.palette_at += header.compression == Compression::fields ? 12 : 16;
      }
      for (const std::uint32_t mask : header.masks) {
        const std::uint32_t run = mask == 0 ? 0 : mask >> std::countr_zero(mask);
        if (mask == 0 || (run & (run + 1)) != 0) {
          refuse_damaged(encoded, "its colour masks are not runs of bits");
        }
      }
      break;
    case Compression::rle8:
    case Compression::rle4:
      break;
    default:
      refuse_unsupported(encoded,
                         "it is packed by method " +
                             std::to_string(static_cast<std::uint32_t>(header.compression)));
  }
  constexpr std::array<unsigned, 6> depths{1, 4, 8, 16, 24, 32};
  const bool fields =
      header.compression == Compression::fields || header.compression == Compression::alpha_fields;
  if (std::ranges::find(depths, header.bits) == depths.end() ||
      (header.compression == Compression::rle8 && header.bits != 8) ||
      (header.compression == Compression::rle4 && header.bits != 4) ||
      (fields && header.bits != 16 && header.bits != 32)) {
    refuse_unsupported(encoded, "it has " + std::to_string(header.bits) +
                                    " bits per pixel, packed by method " +
                                    std::to_string(static_cast<std::uint32_t>(header.compression)));
  }
  if (header.pixels_at < header.palette_at) {
    refuse_damaged(encoded, "its pixels begin inside its header");
  }
  return header;
}

/// As many colours as a pixel can index; black if the file has fewer.
std::vector<BmpColour> read_palette(const Encoded& encoded, const BmpHeader& header) {
  const std::size_t possible = std::size_t{1} << header.bits;
  if (header.colours > possible) {
    refuse_damaged(encoded, "its palette declares " + std::to_string(header.colours) +
                                " colours, but only " + std::to_string(possible) + " are possible");
  }
  const std::size_t entry_bytes = is_core(header) ? 3 : 4;
  const std::size_t room = (header.pixels_at - header.palette_at) / entry_bytes;
  const std::size_t stored = std::min(header.colours == 0 ? possible : header.colours, room);
  std::vector<BmpColour> palette(possible, BmpColour{});
  Reader reader(encoded, header.palette_at);
  for (std::size_t i = 0; i < stored; ++i) {
    const auto entry = reader.take(entry_bytes);
    palette[i] = {entry[2], entry[1], entry[0]};
  }
  return palette;
}

/// One palette index per pixel, rows in the order of the file.
std::vector<std::uint8_t> unpack_runs(const Encoded& encoded, const BmpHeader& header) {
  const auto width = static_cast<std::size_t>(header.width);
  const auto height = static_cast<std::size_t>(header.height);
  const bool nibbles = header.compression == Compression::rle4;
  std::vector<std::uint8_t> indices(width * height, 0);
  Reader reader(encoded, header.pixels_at);
  std::size_t x = 0;
  std::size_t y = 0;
  const auto put = [&](std::uint8_t index) {
    if (x >= width || y >= height) refuse_damaged(encoded, "a run of pixels exceeds its row");
    indices[y * width + x++] = index;
  };
  const auto pixel_of = [&](std::uint8_t byte, unsigned i) {
    if (!nibbles) return byte;
    return static_cast<std::uint8_t>(i % 2 == 0 ? byte >> 4 : byte & 15);
  };
  while (true) {
    // Some writers omit the end mark after the last row.
    if (reader.left() == 0 && (y >= height || (y + 1 == height && x == width))) return indices;
    const unsigned count = reader.u8();
    const std::uint8_t value = reader.u8();
    if (count > 0) {
      for (unsigned i = 0; i < count; ++i) put(pixel_of(value, i));
      continue;
    }
    switch (value) {
      case 0:  // end of row
        x = 0;
        ++y;
        break;
      case 1:  // end of image
        return indices;
      case 2:  // a jump
        x += reader.u8();
        y += reader.u8();
        if (x > width || y > height) refuse_damaged(encoded, "a jump leaves the image");
        break;
      default: {  // `value` pixels as they are, filled up to an even number of bytes
        const std::size_t bytes = nibbles ? (value + 1U) / 2U : value;
        const auto data = reader.take(bytes);
        for (unsigned i = 0; i < value; ++i) put(pixel_of(data[nibbles ? i / 2 : i], i));
        if (bytes % 2 == 1) reader.skip(1);
        break;
      }
    }
  }
}

void unpack_row(const BmpHeader& header, const std::vector<BmpColour>& palette,
                const std::uint8_t* row, std::uint8_t* out) {
  const auto width = static_cast<std::size_t>(header.width);
  for (std::size_t x = 0; x < width; ++x, out += 3) {
    if (header.bits <= 8) {
      const std::size_t bit = x * header.bits;
      const unsigned shift = 8 - header.bits - static_cast<unsigned>(bit % 8);
      const BmpColour& colour = palette[(row[bit / 8] >> shift) & ((1U << header.bits) - 1)];
      std::ranges::copy(colour, out);
    } else if (header.bits == 24) {
      out[0] = row[3 * x + 2];
      out[1] = row[3 * x + 1];
      out[2] = row[3 * x];
    } else {
      const std::size_t bytes = header.bits / 8;
      std::uint32_t pixel = 0;
      for (std::size_t i = 0; i < bytes; ++i) {
        pixel |= std::uint32_t{row[bytes * x + i]} << (8 * static_cast<unsigned>(i));
      }
      for (std::size_t c = 0; c < 3; ++c) {
        const std::uint32_t mask = header.masks[c];
        const auto shift = static_cast<unsigned>(std::countr_zero(mask));
        out[c] = to_byte((pixel & mask) >> shift, mask >> shift);
      }
    }
  }
}

}  // namespace

Decoded decode_bmp(const Encoded& encoded) {
  const BmpHeader header = read_bmp_header(encoded);
  const auto width = static_cast<std::size_t>(header.width);
  const auto height = static_cast<std::size_t>(header.height);
  const std::vector<BmpColour> palette =
      header.bits <= 8 ? read_palette(encoded, header) : std::vector<BmpColour>{};
  const bool runs =
      header.compression == Compression::rle8 || header.compression == Compression::rle4;
  // Before pixels are allocated: a header of 54 bytes may declare any size.
  const std::size_t row_bytes = (width * header.bits + 31) / 32 * 4;
  const std::size_t last_row_bytes = (width * header.bits + 7) / 8;
  std::span<const std::uint8_t> stored;
  if (!runs) {
    Reader reader(encoded, header.pixels_at);
    stored = reader.take(row_bytes * (height - 1) + last_row_bytes);
  }

  const std::vector<std::uint8_t> indices =
      runs ? unpack_runs(encoded, header) : std::vector<std::uint8_t>{};
  Decoded decoded{.image = Image(static_cast<int>(height), static_cast<int>(width), 3)};
  for (std::size_t y = 0; y < height; ++y) {
    const std::size_t target = header.top_down ? y : height - 1 - y;
    std::uint8_t* out = decoded.image.row(static_cast<int>(target));
    if (runs) {
      for (std::size_t x = 0; x < width; ++x) {
        std::ranges::copy(palette[indices[y * width + x]], out + 3 * x);
      }
    } else {
      unpack_row(header, palette, stored.data() + y * row_bytes, out);
    }
  }
  return decoded;
}

}  // namespace seam::stages::formats
