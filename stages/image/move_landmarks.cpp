#include "stages/image/move_landmarks.hpp"

#include "stages/counted.hpp"

namespace seam::stages {
namespace {

/// The inverse of the map: the position of a source pixel in the result.
std::array<float, 2> moved(const std::array<float, 2>& place, const SourceMap& map) {
  const double column = static_cast<double>(place[0]) - map.column;
  const double row = static_cast<double>(place[1]) - map.row;
  const double determinant =
      map.row_by_row * map.column_by_column - map.row_by_column * map.column_by_row;
  return {
      static_cast<float>((map.row_by_row * column - map.column_by_row * row) / determinant),
      static_cast<float>((map.column_by_column * row - map.row_by_column * column) / determinant)};
}

void check(std::size_t landmark, const std::array<float, 2>& place, std::int64_t state,
           const Image& image) {
  constexpr auto states = static_cast<std::int64_t>(LandmarkState::none);
  const std::string name =
      "landmark " + std::to_string(landmark + 1) + " (" + std::string(landmark_names.at(landmark));
  if (state < 0 || state > states) {
    throw Error(name + ") has visibility " + std::to_string(state) +
                ", but must be 0 (visible), 1 (occluded), 2 (cut off) or 3 (none)");
  }
  if (!has_position(state) || lies_in(place, image.height(), image.width())) return;
  throw Error(name + ") is at x " + text_of(place[0]) + " and y " + text_of(place[1]) +
              ", which is not in the image of width " + std::to_string(image.width()) +
              " and height " + std::to_string(image.height()) +
              ": the landmarks belong to a different release of the images, or an earlier stage "
              "changed the image without its landmarks");
}

}  // namespace

bool lies_in(const std::array<float, 2>& place, int height, int width) {
  // Written so that NaN counts as outside.
  return place[0] >= -1 && place[0] <= static_cast<float>(width) && place[1] >= -1 &&
         place[1] <= static_cast<float>(height);
}

std::optional<PictureLandmarks> landmarks_of(const Packet& packet, const Image& image) {
  const bool placed = packet.has(field::landmarks);
  if (placed != packet.has(field::visibility)) {
    throw Error(
        std::string("the image has ") +
            (placed ? "'landmarks' without 'visibility'" : "'visibility' without 'landmarks'") +
            ": a data set must provide both",
        Fault::internal);
  }
  if (!placed) return std::nullopt;
  const PictureLandmarks landmarks{packet.get(field::landmarks), packet.get(field::visibility)};
  for (std::size_t i = 0; i < landmark_count; ++i) {
    check(i, landmarks.positions.at(i), landmarks.states.at(i), image);
  }
  return landmarks;
}

void move_landmarks(Packet& packet, const Image& before, const Image& after, const SourceMap& map,
                    Mirroring mirroring) {
  std::optional<PictureLandmarks> landmarks = landmarks_of(packet, before);
  if (!landmarks) return;
  auto& [positions, states] = *landmarks;
  for (std::size_t i = 0; i < landmark_count; ++i) {
    if (!has_position(states.at(i))) continue;
    positions.at(i) = moved(positions.at(i), map);
    if (lies_in(positions.at(i), after.height(), after.width())) continue;
    positions.at(i) = {};
    states.at(i) = static_cast<std::int64_t>(LandmarkState::cut_off);
  }
  if (mirroring == Mirroring::mirrored) {
    for (std::size_t left = 0; left < landmark_count; left += 2) {
      std::swap(positions.at(left), positions.at(left + 1));
      std::swap(states.at(left), states.at(left + 1));
    }
  }
  packet.set(field::landmarks, positions);
  packet.set(field::visibility, states);
}

SourceMap resizing_map(const Image& before, const Image& after) {
  SourceMap map;
  map.row_by_row = static_cast<double>(before.height()) / after.height();
  map.column_by_column = static_cast<double>(before.width()) / after.width();
  map.row = (map.row_by_row - 1) / 2;
  map.column = (map.column_by_column - 1) / 2;
  return map;
}

}  // namespace seam::stages
