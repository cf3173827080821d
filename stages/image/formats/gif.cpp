#include <algorithm>
#include <array>
#include <vector>

#include "stages/image/formats/format.hpp"

namespace seam::stages::formats {
namespace {

using GifColour = std::array<std::uint8_t, 3>;
using Palette = std::array<GifColour, 256>;

constexpr unsigned table_flag = 0x80;
constexpr unsigned interlaced_flag = 0x40;

/// Shades of grey, for files without a colour table; 256 entries, so that every index has a colour.
Palette grey_palette() {
  Palette palette;
  for (std::size_t i = 0; i < palette.size(); ++i) palette[i].fill(static_cast<std::uint8_t>(i));
  return palette;
}

Palette read_gif_palette(Reader& reader, unsigned flags) {
  Palette palette{};
  const std::size_t count = std::size_t{2} << (flags & 7U);
  for (std::size_t i = 0; i < count; ++i) std::ranges::copy(reader.take(3), palette[i].begin());
  return palette;
}

/// Joins the blocks of at most 255 bytes up to the empty one.
std::vector<std::uint8_t> read_blocks(Reader& reader) {
  std::vector<std::uint8_t> data;
  while (const std::size_t count = reader.u8()) {
    const auto block = reader.take(count);
    data.insert(data.end(), block.begin(), block.end());
  }
  return data;
}

void skip_blocks(Reader& reader) {
  while (const std::size_t count = reader.u8()) reader.skip(count);
}

/// Lempel-Ziv-Welch in GIF's variant: codes of growing width, lowest bit first. Returns `count`
/// palette indices.
std::vector<std::uint8_t> unpack(const Encoded& encoded, std::span<const std::uint8_t> data,
                                 unsigned root_bits, std::size_t count) {
  constexpr unsigned most_bits = 12;
  constexpr std::size_t table_size = std::size_t{1} << most_bits;
  if (root_bits < 1 || root_bits > 8) refuse_damaged(encoded, "its code size is not 1 to 8 bits");
  const unsigned clear = 1U << root_bits;
  const unsigned end = clear + 1;
  constexpr unsigned nothing = table_size;

  std::vector<std::uint16_t> parent(table_size, 0);
  std::vector<std::uint8_t> last(table_size, 0);
  std::vector<std::uint8_t> first(table_size, 0);
  std::vector<std::uint16_t> length(table_size, 0);
  for (unsigned i = 0; i < clear; ++i) {
    last[i] = first[i] = static_cast<std::uint8_t>(i);
    length[i] = 1;
  }

  std::vector<std::uint8_t> out(count);
  std::size_t written = 0;
  unsigned next = end + 1;
  unsigned bits = root_bits + 1;
  unsigned previous = nothing;
  std::uint32_t buffer = 0;
  unsigned buffered = 0;
  std::size_t position = 0;
  while (written < count) {
    while (buffered < bits) {
      if (position == data.size()) refuse_damaged(encoded, "it has too few pixels");
      buffer |= std::uint32_t{data[position++]} << buffered;
      buffered += 8;
    }
    const unsigned code = buffer & ((1U << bits) - 1);
    buffer >>= bits;
    buffered -= bits;
    if (code == clear) {
      next = end + 1;
      bits = root_bits + 1;
      previous = nothing;
      continue;
    }
    if (code == end) refuse_damaged(encoded, "it has too few pixels");
    if (code > next || (code == next && previous == nothing) ||
        (previous == nothing && code > clear)) {
      refuse_damaged(encoded, "its packed data contains an impossible code");
    }
    // A code not yet in the table is the previous string followed by its first byte.
    if (previous != nothing && next < table_size) {
      parent[next] = static_cast<std::uint16_t>(previous);
      first[next] = first[previous];
      last[next] = first[code == next ? previous : code];
      length[next] = static_cast<std::uint16_t>(length[previous] + 1);
      ++next;
      if (next == (1U << bits) && bits < most_bits) ++bits;
    } else if (code == next) {
      refuse_damaged(encoded, "its packed data contains an impossible code");
    }
    // The string is decoded from its end; pixels beyond the image are dropped.
    const std::size_t start = written;
    written = std::min(start + length[code], count);
    unsigned walk = code;
    for (std::size_t at = start + length[code]; at > start; walk = parent[walk]) {
      --at;
      if (at < count) out[at] = last[walk];
    }
    previous = code;
  }
  return out;
}

/// The `i`-th row in the file of an interlaced image.
std::vector<std::size_t> row_order(std::size_t height, bool interlaced) {
  std::vector<std::size_t> order;
  order.reserve(height);
  if (!interlaced) {
    for (std::size_t y = 0; y < height; ++y) order.push_back(y);
    return order;
  }
  constexpr std::array<std::array<std::size_t, 2>, 4> passes{{{0, 8}, {4, 8}, {2, 4}, {1, 2}}};
  for (const auto& [start, step] : passes) {
    for (std::size_t y = start; y < height; y += step) order.push_back(y);
  }
  return order;
}

}  // namespace

Decoded decode_gif(const Encoded& encoded) {
  Reader reader(encoded, 6);
  const std::size_t width = reader.u16_little();
  const std::size_t height = reader.u16_little();
  const unsigned flags = reader.u8();
  const std::size_t background = reader.u8();
  reader.skip(1);
  check_size(encoded, width, height);
  const bool has_palette = (flags & table_flag) != 0;
  const Palette shared = has_palette ? read_gif_palette(reader, flags) : grey_palette();

  while (true) {
    constexpr std::uint8_t extension = 0x21;
    constexpr std::uint8_t picture = 0x2C;
    constexpr std::uint8_t trailer = 0x3B;
    const std::uint8_t kind = reader.u8();
    if (kind == extension) {
      reader.skip(1);
      skip_blocks(reader);
      continue;
    }
    if (kind == trailer) refuse_damaged(encoded, "it contains no image");
    if (kind != picture) refuse_damaged(encoded, "it contains a block of an unknown kind");

    const std::size_t left = reader.u16_little();
    const std::size_t top = reader.u16_little();
    const std::size_t frame_width = reader.u16_little();
    const std::size_t frame_height = reader.u16_little();
    const unsigned frame_flags = reader.u8();
    if (frame_width == 0 || frame_height == 0 || left + frame_width > width ||
        top + frame_height > height) {
      refuse_damaged(encoded, "its first image exceeds the canvas");
    }
    const Palette palette =
        (frame_flags & table_flag) != 0 ? read_gif_palette(reader, frame_flags) : shared;
    const unsigned root_bits = reader.u8();
    const std::vector<std::uint8_t> data = read_blocks(reader);
    const std::vector<std::uint8_t> indices =
        unpack(encoded, data, root_bits, frame_width * frame_height);

    Decoded decoded{.image = Image(static_cast<int>(height), static_cast<int>(width), 3)};
    const GifColour fill = has_palette ? shared[background] : GifColour{};
    for (std::size_t i = 0; i < width * height; ++i) {
      std::ranges::copy(fill, decoded.image.data() + 3 * i);
    }
    const std::vector<std::size_t> rows =
        row_order(frame_height, (frame_flags & interlaced_flag) != 0);
    for (std::size_t i = 0; i < frame_height; ++i) {
      std::uint8_t* out = decoded.image.row(static_cast<int>(top + rows[i])) + 3 * left;
      for (std::size_t x = 0; x < frame_width; ++x, out += 3) {
        std::ranges::copy(palette[indices[i * frame_width + x]], out);
      }
    }
    return decoded;
  }
}

}  // namespace seam::stages::formats
