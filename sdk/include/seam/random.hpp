// SPDX-License-Identifier: Apache-2.0
/// Random numbers that depend on the place of the draw, not on its time or thread.
///
///     seed, stream ──► key      (run seed, stage name)
///     epoch, sequence ──► counter
///     Philox4x32-10(key, counter) ──► four 32-bit numbers at a time
///
/// Philox: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. All
/// derived draws are defined here, since those of the standard library differ between libraries.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "seam/export.hpp"

namespace seam {

/// FNV-1a over the text's bytes, then mixed: names to streams.
SEAM_EXPORT std::uint64_t stream_of(std::string_view text);

/// One block of Philox4x32-10.
SEAM_EXPORT std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                                std::array<std::uint32_t, 2> key);

class SEAM_EXPORT Random {
 public:
  /// Generators that differ in any argument draw unrelated numbers. `epoch` is taken modulo 2^32.
  Random(std::uint64_t seed, std::uint64_t stream, std::uint64_t epoch = 0,
         std::uint64_t sequence = 0);

  /// Uniform over all 32-bit / 64-bit numbers.
  std::uint32_t bits32();
  std::uint64_t bits64();
  /// Uniform in [0, 1), 53 bits.
  double uniform();
  /// Uniform in [low, high).
  double uniform(double low, double high);
  /// Uniform in {0, ..., count - 1}, without bias. count must be positive.
  std::uint64_t index(std::uint64_t count);
  /// True with the given probability.
  bool coin(double probability);
  /// Standard normal (Box-Muller; one of the pair is kept for the next call).
  double normal();

  /// Fisher-Yates.
  template <class T>
  void shuffle(std::span<T> values) {
    for (std::size_t left = values.size(); left > 1; --left) {
      using std::swap;
      swap(values[left - 1], values[static_cast<std::size_t>(index(left))]);
    }
  }

 private:
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 4> block_{};
  unsigned used_ = 4;
  bool has_spare_ = false;
  double spare_ = 0;
};

}  // namespace seam
