/// Which of the compiled copies of the numeric kernels this processor can run.
///
/// The kernels are written once, in the *_body.hpp headers, with the compiler's vector types, and
/// are compiled once for each instruction set (baseline.cpp, avx2.cpp, avx512.cpp). The instruction
/// set is a template parameter of everything in them, so the linker can never merge code of two
/// copies.
#pragma once

namespace seam::stages::kernels {

enum class InstructionSet { baseline, avx2, avx512 };

/// The best instruction set that was compiled in and that the processor offers.
[[nodiscard]] InstructionSet best_instruction_set();

}  // namespace seam::stages::kernels
