#include "seam/random.hpp"

#include <cmath>
#include <numbers>

namespace seam {
namespace {

// Multipliers and Weyl constants of Philox4x32, from the paper's section 4.
constexpr std::uint64_t multiplier_0 = 0xD2511F53U;
constexpr std::uint64_t multiplier_1 = 0xCD9E8D57U;
constexpr std::uint32_t weyl_0 = 0x9E3779B9U;
constexpr std::uint32_t weyl_1 = 0xBB67AE85U;
constexpr int rounds = 10;

/// The finaliser of SplitMix64: spreads every input bit over all output bits.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

}  // namespace

std::uint64_t stream_of(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return mix(hash);
}

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t product_0 = multiplier_0 * counter[0];
    const std::uint64_t product_1 = multiplier_1 * counter[2];
    counter = {static_cast<std::uint32_t>(product_1 >> 32U) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product_1),
               static_cast<std::uint32_t>(product_0 >> 32U) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product_0)};
    key[0] += weyl_0;
    key[1] += weyl_1;
  }
  return counter;
}

Random::Random(std::uint64_t seed, std::uint64_t stream, std::uint64_t epoch,
               std::uint64_t sequence) {
  const std::uint64_t key = mix(seed ^ mix(stream));
  key_ = {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32U)};
  // Word 0 counts blocks; the other three identify the draw.
  counter_ = {0, static_cast<std::uint32_t>(epoch), static_cast<std::uint32_t>(sequence),
              static_cast<std::uint32_t>(sequence >> 32U)};
}

std::uint32_t Random::bits32() {
  if (used_ == block_.size()) {
    block_ = philox(counter_, key_);
    ++counter_[0];
    used_ = 0;
  }
  return block_[used_++];
}

std::uint64_t Random::bits64() {
  const std::uint64_t high = bits32();
  return high << 32U | bits32();
}

double Random::uniform() {
  return static_cast<double>(bits64() >> 11U) * 0x1.0p-53;
}

double Random::uniform(double low, double high) {
  return low + (high - low) * uniform();
}

std::uint64_t Random::index(std::uint64_t count) {
  // Draws above the last whole multiple of count would favour small results.
  const std::uint64_t limit = count * (UINT64_MAX / count);
  std::uint64_t draw = bits64();
  while (draw >= limit) draw = bits64();
  return draw % count;
}

bool Random::coin(double probability) {
  return uniform() < probability;
}

double Random::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  const double angle = 2.0 * std::numbers::pi * uniform();
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

}  // namespace seam
