/// A loop that is compiled once for each instruction set.
///
///     [[gnu::always_inline]] inline void convert(const Job& job) { ... }
///     EachSet<convert>::of(set)(job);
#pragma once

#include "stages/cpu/instruction_set.hpp"

namespace seam::stages {

template <auto loop>
struct EachSet;

template <class... Arguments, void (*loop)(Arguments...)>
struct EachSet<loop> {
  using Function = void (*)(Arguments...);

  [[nodiscard]] static Function of([[maybe_unused]] InstructionSet set) {
#if defined(__x86_64__)
    if (set == InstructionSet::avx512) return avx512;
    if (set == InstructionSet::avx2) return avx2;
#endif
    return baseline;
  }

 private:
  static void baseline(Arguments... arguments) {
    loop(arguments...);
  }
#if defined(__x86_64__)
  [[gnu::target("avx2")]] static void avx2(Arguments... arguments) {
    loop(arguments...);
  }
// GCC uses only half of each register without the last option, which Clang does not know.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wignored-attributes"
  [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")]] static void avx512(
      Arguments... arguments) {
    loop(arguments...);
  }
#pragma GCC diagnostic pop
#endif
};

}  // namespace seam::stages
