/// A field that samplers of pairs provide and losses of pairs need.
///
///     row        0   1     2   3     4   5
///     picture    A1  A2    B1  C1    D2  D1
///     same       1   1     0   0     1   1
#pragma once

#include <seam/tensor.hpp>

namespace seam::field {

/// Rows 2k and 2k+1 are a pair: 1 for both if they show the same item or person, else 0.
inline constexpr Field<Tensor> same{"same", "i64[N]"};

}  // namespace seam::field
