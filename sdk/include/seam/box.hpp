// SPDX-License-Identifier: Apache-2.0
/// The position of an item in the image of its file.
///
///     dataset ──► path, box ──► image.decode ──► image.crop (box = true) ──► the item alone
#pragma once

#include <array>

#include "seam/field.hpp"

namespace seam::field {

/// Left, top, right and bottom in pixels of the file's upright image; right and bottom are
/// exclusive.
inline constexpr Field<std::array<float, 4>> box{"box"};

}  // namespace seam::field
