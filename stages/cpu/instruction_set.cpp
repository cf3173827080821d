#include "stages/cpu/instruction_set.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace seam::stages {
namespace {

InstructionSet offered() {
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  if (avx2 && avx512) return InstructionSet::avx512;
  if (avx2) return InstructionSet::avx2;
#endif
  return InstructionSet::baseline;
}

InstructionSet allowed() {
  const char* text =
      std::getenv("ATEN_CPU_CAPABILITY");  // NOLINT(concurrency-mt-unsafe): read once
  const std::string_view name = text == nullptr ? "" : text;
  if (name == "default") return InstructionSet::baseline;
  return name == "avx2" ? InstructionSet::avx2 : InstructionSet::avx512;
}

}  // namespace

InstructionSet best_instruction_set() {
  static const InstructionSet best = std::min(offered(), allowed());
  return best;
}

bool multiplies_bfloat16_pairs() {
#if defined(__x86_64__)
  return best_instruction_set() == InstructionSet::avx512 &&
         __builtin_cpu_supports("avx512bf16") != 0;
#else
  return false;
#endif
}

}  // namespace seam::stages
