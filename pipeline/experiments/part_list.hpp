/// The shards of a job, read from the folder in which they write (parts.hpp).
///
///     OUT/part-00000-of-00003/    complete
///     OUT/part-00002-of-00003/    damaged: 'embeddings.npy' has changed since it was written
///                                 shard 1: missing
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "pipeline/graph/shard.hpp"

namespace seam::host {

struct ListedPart {
  Shard shard;
  std::filesystem::path run;  ///< its folder, absolute; empty if it is missing
  /// "complete"; "missing", "running", "stopped", "failed" or "interrupted": run it again;
  /// "damaged": its files are not those that it wrote; "different": not made from the same inputs
  /// as most of the others; "doubled": another folder has the same shard.
  std::string state;
  std::string note;           ///< details; may be empty
  std::uint64_t packets = 0;  ///< of its sources
  std::uint64_t lost = 0;     ///< dropped, or failed and skipped
};

/// By number. Reads all files of complete parts. Throws seam::Error (configuration) if the folder
/// contains no shards.
[[nodiscard]] std::vector<ListedPart> list_parts(const std::filesystem::path& out);

/// "8 of 8 shards are complete: 1,234 packets, 3 of them dropped or skipped"
[[nodiscard]] std::string summary_of(const std::vector<ListedPart>& parts);

[[nodiscard]] bool all_complete(const std::vector<ListedPart>& parts);

}  // namespace seam::host
