/// A permutation of many rows that can be evaluated at any position without being stored:
///
///     Permutation order(rows, Random(seed, stream, epoch, ~round));
///     order(0), order(1), ...   every row once
#pragma once

#include <seam/random.hpp>

namespace seam::stages {

/// A permutation of {0, ..., size - 1} that needs no memory: four Feistel rounds over the next even
/// power of two, walked until the result falls inside.
class Permutation {
 public:
  Permutation(std::uint64_t size, Random key) : size_(size) {
    while ((std::uint64_t{1} << (2 * half_bits_)) < size) ++half_bits_;
    for (std::uint64_t& round : rounds_) round = key.bits64();
  }

  [[nodiscard]] std::uint64_t operator()(std::uint64_t value) const {
    do {
      value = mix(value);
    } while (value >= size_);
    return value;
  }

 private:
  [[nodiscard]] std::uint64_t mix(std::uint64_t value) const {
    const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
    std::uint64_t left = value >> half_bits_;
    std::uint64_t right = value & mask;
    for (const std::uint64_t round : rounds_) {
      std::uint64_t scrambled = (right ^ round) * 0x9E3779B97F4A7C15U;  // 2^64 / golden ratio, odd
      scrambled ^= scrambled >> 29;
      scrambled *= 0xBF58476D1CE4E5B9U;  // a constant of splitmix64
      scrambled ^= scrambled >> 32;
      const std::uint64_t next = left ^ (scrambled & mask);
      left = right;
      right = next;
    }
    return (left << half_bits_) | right;
  }

  std::uint64_t size_;
  unsigned half_bits_ = 1;
  std::array<std::uint64_t, 4> rounds_{};
};

}  // namespace seam::stages
