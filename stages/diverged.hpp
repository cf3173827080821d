/// The remedy that errors of a diverged training suggest.
#pragma once

namespace seam::stages {

inline constexpr const char* diverged_remedy =
    "training has diverged; a smaller `rate` or a `clip_norm` of the optimizer may help";

}  // namespace seam::stages
