/// A field that decoders provide and losses compare with the images.
#pragma once

#include <seam/tensor.hpp>

namespace seam::field {

/// The images as a decoder draws them, RGB, from 0 to 1.
inline constexpr Field<Tensor> reconstruction{"reconstruction", "f32[N,3,H,W]"};

}  // namespace seam::field
