/// Whose capsule a decoder draws: in training that of the image's category, in evaluation the
/// longest.
#pragma once

#include <seam/tensor.hpp>

namespace seam::stages {

/// Declares the fields of a decoder for `classes` capsules of size `size`; 0: those that arrive,
/// for the parameters `classes` and `capsule_size`.
void declare_drawn_capsule(Declaration& d, std::int64_t classes, std::int64_t size);

/// The class i64[N] of each row. Throws seam::Error in training if the packet has no categories.
[[nodiscard]] Tensor drawn_capsule(const Packet& packet, const Context& context);

}  // namespace seam::stages
