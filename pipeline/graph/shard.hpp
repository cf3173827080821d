/// One of several independent processes that share the packets of a flow's sources:
/// `seam run --shard 1/3`.
///
///     packets of a source   0 1 2 3 │ 4 5 6 7 │ 8 9 10 11 │ 12 13       batches of 4
///     shard                    0    │    1    │     2     │   0
///
/// A shard makes the same batches as one process, and gaps take the places of the other packets, so
/// that packets keep their numbers and random numbers.
#pragma once

#include <cstdint>

namespace seam::host {

struct Shard {
  std::uint64_t number = 0;  ///< from 0
  std::uint64_t of = 1;      ///< number of shards

  /// Whether the shard processes a packet; `block`: packets in a row that stay together.
  [[nodiscard]] bool has(std::uint64_t packet, std::uint64_t block) const {
    return packet / block % of == number;
  }
  friend bool operator==(const Shard&, const Shard&) = default;
};

}  // namespace seam::host
