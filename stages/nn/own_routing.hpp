/// Routing on CPUs where each input capsule has weights of its own, in which the predictions û are
/// the largest thing by far: they are made once, and their gradient takes their place.
///
///     forward    tiles of inputs:  û = u W                                     [B,K,N,O]
///                image by image:   all iterations, while the image's û is in the cache
///     backward   û once more; image by image: the iterations, and backwards through them. What û's
///                gradient consists of are outer products, one of each capsule's numbers for each
///                coupling and each agreement, so it is written where û was
///                tiles of inputs:  gradients of W and u
///
/// Nothing but u and W is kept from forward to backward.
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "stages/nn/routing.hpp"

namespace seam::nn {

/// Routes u [B,N,D] through weights [N,D,K*O] to v [B,K,O]; shapes are checked by route(), which
/// is who calls it. Differentiable once. The same bytes for any number of threads.
[[nodiscard]] torch::Tensor route_own(const torch::Tensor& u, const torch::Tensor& weight,
                                      std::int64_t classes, const RoutingOptions& options);

}  // namespace seam::nn
