#include "stages/image/formats/format.hpp"

#include <algorithm>
#include <array>

#include <seam/error.hpp>

namespace seam::stages::formats {
namespace {

std::string subject(const Encoded& encoded) {
  return "'" + std::string(encoded.name) + "'";
}

}  // namespace

void refuse_damaged(const Encoded& encoded, const std::string& what) {
  throw Error(subject(encoded) + " is a damaged " + std::string(encoded.format) +
              " image: " + what + "; download the file again or remove it from the list");
}

void refuse_truncated(const Encoded& encoded) {
  refuse_damaged(encoded,
                 "it is truncated after " + std::to_string(encoded.bytes.size()) + " bytes");
}

void refuse_unsupported(const Encoded& encoded, const std::string& what) {
  throw Error(subject(encoded) + " is a " + std::string(encoded.format) +
              " image of an unsupported kind: " + what +
              "; convert it to an 8-bit RGB JPEG or PNG");
}

void check_size(const Encoded& encoded, std::uint64_t width, std::uint64_t height) {
  if (width == 0 || height == 0) {
    refuse_damaged(encoded, "its header declares " + std::to_string(width) + " x " +
                                std::to_string(height) + " pixels");
  }
  constexpr std::uint64_t longest = 1U << 30U;  // keeps all later arithmetic in range
  if (width > longest || height > longest || width > encoded.max_pixels / height) {
    throw Error(
        subject(encoded) + " is " + std::to_string(width) + " x " + std::to_string(height) +
        " pixels by its header, more than the " + std::to_string(encoded.max_pixels) +
        " allowed in total; make the image smaller, remove it from the list or raise max_pixels");
  }
}

std::span<const std::uint8_t> Reader::take(std::size_t count) {
  if (count > left()) refuse_truncated(*encoded_);
  const auto taken = encoded_->bytes.subspan(position_, count);
  position_ += count;
  return taken;
}

std::uint32_t Reader::u32_little() {
  const auto b = take(4);
  return b[0] | std::uint32_t{b[1]} << 8U | std::uint32_t{b[2]} << 16U | std::uint32_t{b[3]} << 24U;
}

std::uint32_t Reader::u32_big() {
  const auto b = take(4);
  return b[3] | std::uint32_t{b[2]} << 8U | std::uint32_t{b[1]} << 16U | std::uint32_t{b[0]} << 24U;
}

int exif_orientation(std::span<const std::uint8_t> block) {
  constexpr std::array<std::uint8_t, 6> prefix{'E', 'x', 'i', 'f', 0, 0};
  if (block.size() >= prefix.size() && std::ranges::equal(block.first(prefix.size()), prefix)) {
    block = block.subspan(prefix.size());
  }
  if (block.size() < 8 || block[0] != block[1] || (block[0] != 'I' && block[0] != 'M')) return 1;
  const bool little = block[0] == 'I';
  const auto number = [&](std::size_t at, std::size_t count) -> std::uint32_t {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      value = value << 8U | block[at + (little ? count - 1 - i : i)];
    }
    return value;
  };
  const std::size_t directory = number(4, 4);
  if (directory > block.size() - 2) return 1;
  const std::size_t entries = number(directory, 2);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + 12 * i;
    if (entry + 12 > block.size()) return 1;
    constexpr std::uint32_t orientation_tag = 0x0112;
    constexpr std::uint32_t short_type = 3;
    if (number(entry, 2) == orientation_tag && number(entry + 2, 2) == short_type) {
      const std::uint32_t value = number(entry + 8, 2);
      return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
    }
  }
  return 1;
}

}  // namespace seam::stages::formats
