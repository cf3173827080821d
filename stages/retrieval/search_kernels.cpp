#include "stages/retrieval/search_kernels.hpp"

#include <array>
#include <cstring>

#include "stages/cpu/instruction_set.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace seam::stages {
namespace {

// Element i of an inner product goes to lane i modulo 16. Each lane is summed separately, and the
// lanes are added in a fixed tree, so the sum is the same for all instruction sets.
/// Registers of `Width` doubles, as vector types of GCC and Clang.
template <std::int64_t Width>
struct Registers;

template <>
struct Registers<2> {
  using Floats [[gnu::vector_size(8)]] = float;
  using Doubles [[gnu::vector_size(16)]] = double;
};

template <>
struct Registers<4> {
  using Floats [[gnu::vector_size(16)]] = float;
  using Doubles [[gnu::vector_size(32)]] = double;
};

// Results are returned by reference: returning such a vector by value would depend on the target.
template <class Width>
[[gnu::always_inline]] inline void load(const float* from, typename Width::Doubles& to) {
  typename Width::Floats values;
  std::memcpy(&values, from, sizeof(values));
  to = __builtin_convertvector(values, typename Width::Doubles);
}

/// Adds the elements from i on, which are fewer than the lanes, and then the lanes.
[[gnu::always_inline]] inline double sum_of_lanes(std::array<double, lane_count> lanes,
                                                  const float* a, const float* b, std::int64_t i,
                                                  std::int64_t count) {
  for (; i < count; ++i) {
    lanes[i % lane_count] += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  }
  for (std::int64_t half = lane_count / 2; half > 0; half /= 2) {
    for (std::int64_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  return lanes[0];
}

/// `Width` doubles fill a register of the target, which keeps the sums out of memory (GCC splits
/// wider vectors through the stack).
template <std::int64_t Width>
[[gnu::always_inline]] inline double sum_of_products(const float* a, const float* b,
                                                     std::int64_t count) {
  using Register = Registers<Width>;
  constexpr std::int64_t kept = lane_count / Width;
  typename Register::Doubles sums[kept] =
      {};  // a plain array, which the compiler keeps in registers
  std::int64_t i = 0;
  for (; i + lane_count <= count; i += lane_count) {
#pragma GCC unroll 8
    for (std::int64_t part = 0; part < kept; ++part) {
      typename Register::Doubles x;
      typename Register::Doubles y;
      load<Register>(a + i + part * Width, x);
      load<Register>(b + i + part * Width, y);
      sums[part] += x * y;
    }
  }
  std::array<double, lane_count> lanes{};
#pragma GCC unroll 8
  for (std::int64_t part = 0; part < kept; ++part) {
    std::memcpy(lanes.data() + part * Width, &sums[part], sizeof(sums[part]));
  }
  return sum_of_lanes(lanes, a, b, i, count);
}

Found find_at_most_portable(const Scores& scores, std::int64_t begin, std::int64_t end,
                            float threshold) {
  for (std::int64_t at = begin; at < end; at += scan_width) {
    std::uint32_t which = 0;
    for (std::int64_t j = 0; j < scan_width; ++j) {
      which |= static_cast<std::uint32_t>(scores.at(at + j) <= threshold) << j;
    }
    if (which != 0) return {at, which};
  }
  return {end, 0};
}

constexpr Kernels portable{[](const float* a, const float* b, std::int64_t count) {
                             return sum_of_products<2>(a, b, count);
                           },
                           find_at_most_portable};

#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] Found find_at_most_avx2(const Scores& scores, std::int64_t begin,
                                                    std::int64_t end, float threshold) {
  const __m256 limit = _mm256_set1_ps(threshold);
  for (std::int64_t at = begin; at < end; at += scan_width) {
    std::uint32_t which = 0;
#pragma GCC unroll 4
    for (std::int64_t part = 0; part < 4; ++part) {
      const std::int64_t j = at + part * 8;
      const __m256 score =
          _mm256_fmadd_ps(_mm256_loadu_ps(scores.scale + j), _mm256_loadu_ps(scores.products + j),
                          _mm256_loadu_ps(scores.offset + j));
      const int mask = _mm256_movemask_ps(_mm256_cmp_ps(score, limit, _CMP_LE_OQ));
      which |= static_cast<std::uint32_t>(mask) << (part * 8);
    }
    if (which != 0) return {at, which};
  }
  return {end, 0};
}

[[gnu::target("avx2,fma")]] double inner_product_avx2(const float* a, const float* b,
                                                      std::int64_t count) {
  return sum_of_products<4>(a, b, count);
}

/// Eight floats as doubles, in one instruction; GCC splits __builtin_convertvector, which takes 50
/// % longer. Uses the masked intrinsic with a full mask, since GCC 12 otherwise warns about its own
/// header.
[[gnu::target("avx512f,avx512vl,avx512dq"), gnu::always_inline]] inline __m512d eight_doubles(
    const float* from) {
  return _mm512_maskz_cvtps_pd(0xFF, _mm256_loadu_ps(from));
}

[[gnu::target("avx512f,avx512vl,avx512dq")]] double inner_product_avx512(const float* a,
                                                                         const float* b,
                                                                         std::int64_t count) {
  constexpr std::int64_t half = lane_count / 2;
  __m512d low = _mm512_setzero_pd();
  __m512d high = _mm512_setzero_pd();
  std::int64_t i = 0;
  for (; i + lane_count <= count; i += lane_count) {
    low = _mm512_fmadd_pd(eight_doubles(a + i), eight_doubles(b + i), low);
    high = _mm512_fmadd_pd(eight_doubles(a + i + half), eight_doubles(b + i + half), high);
  }
  std::array<double, lane_count> lanes{};
  _mm512_storeu_pd(lanes.data(), low);
  _mm512_storeu_pd(lanes.data() + half, high);
  return sum_of_lanes(lanes, a, b, i, count);
}

Kernels kernels_of_this_processor() {
  switch (best_instruction_set()) {
    case InstructionSet::avx512:
      return {inner_product_avx512, find_at_most_avx2};
    case InstructionSet::avx2:
      return {inner_product_avx2, find_at_most_avx2};
    case InstructionSet::baseline:
      break;
  }
  return portable;
}
#else
Kernels kernels_of_this_processor() {
  return portable;
}
#endif

}  // namespace

const Kernels& search_kernels() {
  static const Kernels chosen = kernels_of_this_processor();
  return chosen;
}

double inner_product(const float* a, const float* b, std::int64_t count) {
  return search_kernels().inner_product(a, b, count);
}

}  // namespace seam::stages
