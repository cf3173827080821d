// SPDX-License-Identifier: Apache-2.0
/// Where in its file's picture an item is seen.
///
///     dataset ──► path, box ──► image.decode ──► image.crop (box = true) ──► the item alone
#pragma once

#include <array>

#include "seam/field.hpp"

namespace seam::field {

/// Left, top, right and bottom in pixels of the file's upright picture; right and bottom are the
/// first that no longer belong to it.
inline constexpr Field<std::array<float, 4>> box{"box"};

}  // namespace seam::field
