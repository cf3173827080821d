// SPDX-License-Identifier: Apache-2.0
/// How the rows of a batch are divided into lanes (<seam/lanes.hpp>).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "seam/field.hpp"
#include "seam/packet.hpp"

namespace seam::detail {

/// Some rows of a batch.
struct LaneRows {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// At most `lanes` lanes of at least `fewest` rows, 2 or more: as even as possible, the larger ones
/// first. Neighbouring rows of a group in which they have roles, such as a triplet, stay together.
[[nodiscard]] inline std::vector<LaneRows> lanes_of(const Packet& packet, std::int64_t rows,
                                                    std::int64_t lanes, std::int64_t fewest) {
  const bool grouped = packet.has(field::groups) && packet.has(field::roles);
  const auto in_group_before = [&](std::int64_t row) {
    if (!grouped) return false;
    const auto at = static_cast<std::size_t>(row);
    const std::vector<std::int64_t>& groups = packet.get(field::groups);
    return groups[at] >= 0 && groups[at] == groups[at - 1] &&
           packet.get(field::roles)[at] != Role::single;
  };
  lanes = std::min(lanes, rows / fewest);
  std::vector<LaneRows> result;
  std::int64_t first = 0;
  for (std::int64_t lane = 1; lane <= lanes; ++lane) {
    std::int64_t end = lane * (rows / lanes) + std::min(lane, rows % lanes);
    if (end <= first) continue;
    while (end < rows && (in_group_before(end) || end - first == 1 || rows - end == 1)) ++end;
    result.push_back({first, end - first});
    first = end;
  }
  return result;
}

}  // namespace seam::detail
