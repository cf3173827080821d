/// Landmarks and attributes of clothes, as in DeepFashion:
///
///     dataset ──► landmarks, visibility ──► image.* (moved with the picture) ──► batch (carry)
///
/// Batches have them as tensors of other names (stages/landmark_tensors.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <seam/field.hpp>

namespace seam {

inline constexpr std::size_t landmark_count = 8;

/// By number; left and right are neighbours.
inline constexpr std::array<std::string_view, landmark_count> landmark_names{
    "left collar",    "right collar",    "left sleeve", "right sleeve",
    "left waistline", "right waistline", "left hem",    "right hem"};

/// The values of `visibility`; the first three are DeepFashion's.
enum class LandmarkState : std::int64_t {
  visible,
  occluded,  ///< in the picture, but hidden by something
  cut_off,   ///< beyond the picture's edge: it has no position
  none,      ///< clothes of this type have no such landmark
};

using LandmarkPositions = std::array<std::array<float, 2>, landmark_count>;
using LandmarkVisibility = std::array<std::int64_t, landmark_count>;

/// Whether it has a position.
[[nodiscard]] constexpr bool has_position(std::int64_t state) {
  return state == static_cast<std::int64_t>(LandmarkState::visible) ||
         state == static_cast<std::int64_t>(LandmarkState::occluded);
}

namespace field {

/// x and y of the eight landmarks in pixels of `image`, the centre of whose first pixel is (0, 0);
/// zeros if `visibility` is 2 or 3.
inline constexpr Field<LandmarkPositions> landmarks{"landmarks"};
/// Of each landmark: 0 visible, 1 occluded, 2 cut off, 3 clothes of this type have none.
inline constexpr Field<LandmarkVisibility> visibility{"visibility"};
/// Per attribute: 1 if the item has it, 0 if not, 2 if unknown.
inline constexpr Field<std::vector<std::uint8_t>> attributes{"attributes"};

}  // namespace field
}  // namespace seam
