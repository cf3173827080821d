/// The remedy that errors suggest if embeddings are not finite.
#pragma once

namespace seam::stages {

inline constexpr const char* diverged_remedy =
    "in the first step, check the inputs and the initial weights; later, training has diverged, "
    "and a smaller `rate` or a `clip_norm` of the optimizer may help";

}  // namespace seam::stages
