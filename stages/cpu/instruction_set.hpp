/// Which vector instructions this processor has, for code that is compiled more than once so that a
/// build for any x86-64 machine uses what the one it runs on has. There are two ways:
///
///     EachSet<loop>, in each_set.hpp
///         A loop: an always_inline function, in a wrapper for each set.
///     kernels/avx2.cpp, compiled with -march=x86-64-v3
///         Many functions: a source for each set. The set is a template parameter of all of them,
///         so that the linker never merges code of two sets.
#pragma once

#include <cstdint>

namespace seam::stages {

enum class InstructionSet : std::uint8_t {
  baseline,  ///< any x86-64 processor, or a different kind of processor
  avx2,      ///< x86-64-v3: AVX2 and FMA
  avx512,    ///< x86-64-v4: AVX-512 F, BW, CD, DQ and VL
};

/// The best that this processor offers; each includes those before it. LibTorch's variable
/// ATEN_CPU_CAPABILITY (default, avx2, avx512) limits it, as it limits LibTorch: to test or measure
/// what a smaller processor would run.
[[nodiscard]] InstructionSet best_instruction_set();

/// Whether it multiplies pairs of bfloat16 and adds in float32 (AVX512_BF16).
[[nodiscard]] bool multiplies_bfloat16_pairs();

}  // namespace seam::stages
