/// Moves landmarks together with their pixels.
#pragma once

#include <optional>

#include <seam/packet.hpp>

#include "stages/image/warp.hpp"
#include "stages/landmarks.hpp"

namespace seam::stages {

/// Whether left and right were swapped.
enum class Mirroring : std::uint8_t { none, mirrored };

struct PictureLandmarks {
  LandmarkPositions positions{};
  LandmarkVisibility states{};
};

/// The packet's landmarks in `image`, or nullopt if it has none. They may be up to one pixel
/// outside the outermost pixels' centres, since lists count from 0 or from 1.
///
/// Throws seam::Error for a landmark that should be in the image but is not, for an invalid
/// visibility, and for landmarks without visibility or the reverse.
[[nodiscard]] std::optional<PictureLandmarks> landmarks_of(const Packet& packet,
                                                           const Image& image);

/// Moves the packet's landmarks, if any, from the image `before` to the image `after`, whose pixels
/// `map` looks up in `before`. Those that leave the image become cut off. In a mirrored image, left
/// and right landmarks are swapped. Throws like landmarks_of for `before`.
void move_landmarks(Packet& packet, const Image& before, const Image& after, const SourceMap& map,
                    Mirroring mirroring = Mirroring::none);

/// Whether a position in pixels is in an image of this size, or less than a pixel outside.
[[nodiscard]] bool lies_in(const std::array<float, 2>& place, int height, int width);

/// The map of resizing: positions keep their fraction of each side.
[[nodiscard]] SourceMap resizing_map(const Image& before, const Image& after);

}  // namespace seam::stages
