#include "pipeline/tensorboard/picture_header.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>

namespace seam::host::tensorboard {
namespace {

using Bytes = std::span<const std::byte>;

/// Reads a big-endian number, as in both formats; the bytes must exist.
std::uint32_t number_at(Bytes file, std::size_t at, std::size_t bytes) {
  std::uint32_t number = 0;
  for (const std::byte byte : file.subspan(at, bytes)) {
    number = (number << CHAR_BIT) | std::to_integer<std::uint32_t>(byte);
  }
  return number;
}

std::optional<PictureHeader> sound(std::uint32_t width, std::uint32_t height, int channels) {
  constexpr std::uint32_t most = 1U << 24U;
  if (width == 0 || height == 0 || width > most || height > most || channels == 0) {
    return std::nullopt;
  }
  return PictureHeader{static_cast<int>(width), static_cast<int>(height), channels};
}

/// The first chunk is IHDR: width, height, bits, colour type.
std::optional<PictureHeader> png_header(Bytes file) {
  constexpr std::size_t width_at = 16;
  constexpr std::size_t height_at = 20;
  constexpr std::size_t colour_at = 25;
  if (file.size() <= colour_at) return std::nullopt;
  // By colour type; 3 is a palette of RGB colours, and 1 and 5 do not exist.
  constexpr std::array channels{1, 0, 3, 3, 2, 0, 4};
  const std::uint32_t colour = number_at(file, colour_at, 1);
  return sound(number_at(file, width_at, 4), number_at(file, height_at, 4),
               colour < channels.size() ? channels.at(colour) : 0);
}

/// Segments, each with a marker and a length, up to the frame header (SOF0 to SOF15).
std::optional<PictureHeader> jpeg_header(Bytes file) {
  constexpr std::uint32_t marker_start = 0xFF;
  constexpr std::array<std::uint32_t, 3> no_frame{0xC4, 0xC8, 0xCC};  // tables, among the SOFs
  constexpr std::size_t frame_bytes = 8;  // length, precision, height, width, components
  std::size_t at = 2;
  while (at + 2 + frame_bytes <= file.size() && number_at(file, at, 1) == marker_start) {
    const std::uint32_t marker = number_at(file, at + 1, 1);
    if (marker == marker_start) {  // a fill byte
      ++at;
      continue;
    }
    const bool frame =
        marker >= 0xC0 && marker <= 0xCF && std::ranges::find(no_frame, marker) == no_frame.end();
    if (frame) {
      return sound(number_at(file, at + 7, 2), number_at(file, at + 5, 2),
                   static_cast<int>(number_at(file, at + 9, 1)));
    }
    at += 2 + std::size_t{number_at(file, at + 2, 2)};
  }
  return std::nullopt;
}

}  // namespace

std::optional<PictureHeader> picture_header(Bytes file) {
  constexpr std::array png{std::byte{0x89}, std::byte{'P'}, std::byte{'N'}, std::byte{'G'}};
  constexpr std::array jpeg{std::byte{0xFF}, std::byte{0xD8}, std::byte{0xFF}};
  const auto starts_with = [file](const auto& signature) {
    return file.size() >= signature.size() &&
           std::equal(signature.begin(), signature.end(), file.begin());
  };
  if (starts_with(png)) return png_header(file);
  return starts_with(jpeg) ? jpeg_header(file) : std::nullopt;
}

}  // namespace seam::host::tensorboard
