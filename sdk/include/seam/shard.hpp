// SPDX-License-Identifier: Apache-2.0
/// Interfaces by which stages allow a flow to be split among processes: `seam run --shard 1/3`.
///
///     source ──► decode ──► batch ──► model ──► export.embeddings
///                             │                        │
///                     ConsecutiveBatches          WritesParts
///
/// A shard receives some of the source's packets, with their numbers. A flow with a collector or a
/// sink that does not offer its interface needs all packets in one process, and cannot be split.
///
///     declaration.offers<seam::WritesParts>(*this);        // in the stage's declare()
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "seam/field.hpp"

namespace seam {

/// A collector that gathers consecutive packets, unless they have a `group`, into batches of a
/// fixed size. A shard receives whole batches, because by rounding, a network's result for one
/// image may depend on the other images in the batch.
class ConsecutiveBatches {
 public:
  virtual ~ConsecutiveBatches() = default;

  /// Packets per batch; 0 if they are not consecutive with these parameters. Available after
  /// the parameters are set.
  [[nodiscard]] virtual std::uint64_t batch_size() const = 0;
  /// Called before the first flow of a shard. From then on, the numbers of a batch's packets have
  /// the same quotient by batch_size(): packets that were dropped make their own batch smaller, but
  /// do not change others.
  virtual void begin_part() = 0;
};

/// A sink that writes files about each packet by itself, so that the files of all shards, put
/// together by `packet_numbers`, have the content of one process's.
class WritesParts {
 public:
  virtual ~WritesParts() = default;

  /// Called before the first flow of a shard, which may have no packets: it then writes files
  /// without rows instead of failing.
  virtual void begin_part() = 0;
  /// The files of the last flow that ended.
  [[nodiscard]] virtual std::vector<std::filesystem::path> part_files() const = 0;
};

namespace field {

/// The number of the packet from which each row of a batch was made, counted from 0 over all
/// shards.
inline constexpr Field<std::vector<std::int64_t>> packet_numbers{"packet_numbers", "*[N]"};

}  // namespace field

}  // namespace seam
