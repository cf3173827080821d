/// Kernels of dynamic routing with one weight matrix shared by all input capsules, and of squash.
///
/// Because the matrix is shared, the predictions û_ij = W_j u_i never have to exist:
///     s_j = sum_i c_ij W_j u_i = W_j (sum_i c_ij u_i)          agreement_ij = (W_jᵀ v_j) · u_i
/// One iteration is then one pass over the input capsules of an image (0.5 MB in the published
/// network): logits, softmax and weighted sum for 2 vectors of capsules at a time, all in the
/// first-level cache. As the logits are linear in u_i, accumulating them over iterations is adding
/// up the W_jᵀ v_j.
///
/// No function here allocates, starts a thread or depends on LibTorch.
#pragma once

#include <cstdint>

#include "stages/cpu/instruction_set.hpp"

namespace seam::nn::kernels {

using stages::best_instruction_set;
using stages::InstructionSet;

struct RoutingShape {
  std::int64_t inputs = 0;       ///< N, input capsules of an image
  std::int64_t input_size = 0;   ///< D, dimensions of an input capsule
  std::int64_t outputs = 0;      ///< K, output capsules
  std::int64_t output_size = 0;  ///< O, dimensions of an output capsule
  std::int64_t iterations = 3;
  bool accumulate = false;  ///< logits are summed over iterations instead of replaced
};

template <class T>
struct RoutingKernels {
  /// Elements of scratch memory for one image, and of the memory that forward keeps for backward.
  std::int64_t (*scratch_size)(const RoutingShape&);
  std::int64_t (*saved_size)(const RoutingShape&);

  /// u [N][D], weight [D][K*O] -> v [K][O].
  void (*forward)(const RoutingShape&, T epsilon, const T* u, const T* weight, T* scratch, T* saved,
                  T* v);
  /// The gradients of u [N][D] and, for this image only, of weight [D][K*O].
  void (*backward)(const RoutingShape&, T epsilon, const T* u, const T* weight, const T* saved,
                   const T* v_gradient, T* scratch, T* u_gradient, T* weight_gradient);

  /// squash of `count` vectors of `size`, and its gradient.
  void (*squash)(std::int64_t count, std::int64_t size, T epsilon, const T* s, T* v);
  void (*squash_gradient)(std::int64_t count, std::int64_t size, T epsilon, const T* s,
                          const T* v_gradient, T* s_gradient);
};

/// The kernels compiled for `set`; T is float or double.
template <class T>
[[nodiscard]] const RoutingKernels<T>& routing_kernels(InstructionSet set = best_instruction_set());

}  // namespace seam::nn::kernels
