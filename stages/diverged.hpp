/// What to do about a training that has diverged.
#pragma once

namespace seam::stages {

inline constexpr const char* diverged_remedy =
    "training has diverged; a smaller `rate` of the optimizer, or its `clip_norm`, may help";

}  // namespace seam::stages
