/// Landmarks go where the pixels go that they lie on.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <seam/packet.hpp>

#include "stages/image/warp.hpp"
#include "stages/landmarks.hpp"

namespace seam::stages {

/// Whether left and right changed places.
enum class Mirroring : std::uint8_t { none, mirrored };

struct PictureLandmarks {
  LandmarkPositions positions{};
  LandmarkVisibility states{};
};

/// The packet's landmarks in the picture `image`, or nothing where it has none. They may lie up to
/// a pixel beyond the outermost pixels' middles, since lists count from 0 or from 1.
///
/// Throws seam::Error for one that should lie in the picture and does not, for a visibility that is
/// no state, and for landmarks without visibility or the reverse.
[[nodiscard]] std::optional<PictureLandmarks> landmarks_of(const Packet& packet,
                                                           const Image& image);

/// Moves the packet's landmarks, where it has some, from the picture `before` to the picture
/// `after`, whose pixels `map` looks up in `before`. Those that leave the picture become cut off.
/// In a mirrored picture the left sleeve is the right one. Throws what landmarks_of throws of
/// `before`.
void move_landmarks(Packet& packet, const Image& before, const Image& after, const SourceMap& map,
                    Mirroring mirroring = Mirroring::none);

/// Whether a place in pixels is in a picture of that size, or less than a pixel beyond.
[[nodiscard]] bool lies_in(const std::array<float, 2>& place, int height, int width);

/// What resizing looks up: places keep their share of each side.
[[nodiscard]] SourceMap resizing_map(const Image& before, const Image& after);

}  // namespace seam::stages
