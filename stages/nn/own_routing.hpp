/// Routing on CPUs with separate weights for each input capsule. The predictions û are by far the
/// largest tensor: they are made once, and then overwritten with their gradient.
///
///     forward    tiles of inputs:  û = u W                                     [B,K,N,O]
///                image by image:   all iterations, while the image's û is in the cache
///     backward   û once more; image by image: the iterations, and backwards through them. û's
///                gradient is a sum of outer products of each capsule's elements, one for each
///                coupling and each agreement, so it overwrites û
///                tiles of inputs:  gradients of W and u
///
/// Only u and W are kept from forward to backward.
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "stages/nn/routing.hpp"

namespace seam::nn {

/// Routes u [B,N,D] through weights [N,D,K*O] to v [B,K,O]; shapes are checked by its caller
/// route(). Differentiable once. Bit-identical for any number of threads.
[[nodiscard]] torch::Tensor route_own(const torch::Tensor& u, const torch::Tensor& weight,
                                      std::int64_t classes, const RoutingOptions& options);

}  // namespace seam::nn
