/// Dynamic routing from many input capsules to one capsule per class, with one weight matrix that
/// all input capsules share, or with one for each of them.
///
///     u [B,N,D] ──► û_ij = W_j u_i ──► s_j = Σ_i c_ij û_ij ──► v_j = squash(s_j)   [B,K,O]
///                        ▲                  c_i = softmax over the classes j of b_i
///                        └── b_ij from û_ij · v_j, `iterations` times ──┘
///
/// Sabour, Frosst, Hinton, NIPS 2017, procedure 1, with the sharing of weights of "FashionCaps"
/// (the clothing retrieval thesis of Kınlı, 2019). With a shared matrix û, 12 MB per image in the
/// published network, never exists, since s_j = W_j (Σ_i c_ij u_i) and û_ij · v_j = (W_jᵀ v_j) ·
/// u_i: N·(K+D) values per image and iteration instead of N·K·O. On CPUs in float32 and float64
/// forward and backward are passes over u only, by our own kernels; on other devices and for other
/// types they are a few matrix products.
///
/// For separate weights of each input capsule (Sabour et al.) own_routing.hpp makes û once. With
/// one iteration all couplings are equal, and v is one matrix product.
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "stages/nn/squash.hpp"

namespace seam::nn {

/// The update of the logits b in an iteration.
enum class Logits : std::uint8_t {
  replace,     ///< b = agreement: the released code
  accumulate,  ///< b += agreement: Sabour et al.
};

/// The agreement of a prediction û_ij and a class capsule v_j.
enum class Agreement : std::uint8_t {
  product,  ///< û_ij · v_j: Sabour et al.
  cosine,   ///< RoutingOptions::factor times û_ij · v_j / (|û_ij| |v_j|)
};

/// The index over which the coupling coefficients c_ij sum to one.
enum class RoutingSoftmax : std::uint8_t {
  classes,         ///< each input capsule's: Sabour et al., and the released code
  input_capsules,  ///< each class capsule's: an error of some well-known ports
};

struct RoutingOptions {
  std::int64_t iterations = 3;
  Agreement agreement = Agreement::product;
  double factor = 10;  ///< on cosines: a softmax over classes needs differences of order 1
  Logits logits = Logits::replace;
  RoutingSoftmax softmax = RoutingSoftmax::classes;
  SquashForm squash = SquashForm::epsilon_in_root;
  double epsilon = squash_epsilon;
};

/// Routes u [B,N,D] through weight [D,K*O], or [N,D,K*O] for separate weights of each input
/// capsule, to v [B,K,O]. Class j's matrix is columns j*O to j*O+O-1. With the kernels, it is
/// differentiable once, and every image is routed separately, in an order that does not depend on
/// threads. Autocast does not change the type of the computation. Throws
/// seam::Error for shapes that do not fit, for iterations below 1, and for cosines with tanh.
[[nodiscard]] torch::Tensor route(const torch::Tensor& u, const torch::Tensor& weight,
                                  std::int64_t classes, const RoutingOptions& options = {});

/// The same by LibTorch's operations: for any device and type, and differentiable any number of
/// times.
[[nodiscard]] torch::Tensor route_plain(const torch::Tensor& u, const torch::Tensor& weight,
                                        std::int64_t classes, const RoutingOptions& options = {});

}  // namespace seam::nn
