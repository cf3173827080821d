/// SHA-256, which identifies the plugins and data files that a run used.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace seam::host {

/// SHA-256 (FIPS 180-4), computed incrementally.
class Sha256 {
 public:
  void add(std::span<const std::byte> bytes);
  /// Returns 64 hexadecimal digits; to be called once, after the last piece.
  [[nodiscard]] std::string finish();

 private:
  void block(const std::byte* data);

  std::array<std::uint32_t, 8> state_{0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A,
                                      0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19};
  std::array<std::byte, 64> pending_{};
  std::uint64_t length_ = 0;
};

std::string sha256(std::string_view text);
/// Empty if the file cannot be read.
std::string sha256_of_file(const std::filesystem::path& file);

}  // namespace seam::host
