/// Which vector instructions this machine has, for loops that are compiled more than once.
///
///     template <...> [[gnu::always_inline]] inline void body(...)      plain C++, written once
///     [[gnu::target("avx2")]]     void body_avx2(...)   { body(...); } compiled for each
///     [[gnu::target("avx512f")]]  void body_avx512(...) { body(...); }
///
/// A build for any x86-64 machine then still uses what the one it runs on has. All versions of a
/// loop give the same bytes.
#pragma once

#include <cstdint>

namespace seam::stages {

enum class Vectors : std::uint8_t { baseline, avx2, avx512 };

inline Vectors best_vectors() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return Vectors::avx512;
  }
  if (__builtin_cpu_supports("avx2")) return Vectors::avx2;
#endif
  return Vectors::baseline;
}

}  // namespace seam::stages
