/// The folder in which the shards of one job write.
///
///     seam run FILE --shard 1/3 --run-dir OUT
///
///     OUT/part-00000-of-00003/    run folder of shard 0: embeddings.npy, embeddings.csv, ...
///     OUT/part-00001-of-00003/      summary.json, written last, has the files' checksums
///     OUT/part-00002-of-00003/
///
/// The parts of a folder have the same pipeline, data, weights, plugins, version and numerics: put
/// together, they have the content of one process's files.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/config/load.hpp"
#include "pipeline/graph/shard.hpp"
#include "pipeline/run/listings.hpp"
#include "pipeline/run/run_directory.hpp"

namespace seam::host {

/// "1/3"
[[nodiscard]] std::string to_text(const Shard& shard);
/// Parses "1/3", or "auto": the shard of the environment's Slurm array task or Kubernetes Job
/// index. Throws seam::Error (configuration).
[[nodiscard]] Shard shard_from(std::string_view text,
                               const std::map<std::string, std::string>& environment);
/// The shard of an earlier run; none: it is a whole run. Throws like read_launch().
[[nodiscard]] std::optional<Shard> recorded_shard(const std::filesystem::path& run);

/// "OUT/part-00001-of-00003"
[[nodiscard]] std::filesystem::path part_folder(const std::filesystem::path& out,
                                                const Shard& shard);

/// Throws seam::Error (configuration) that names the stage if a scheduled flow cannot be split, or
/// if stages may write outside the run folder.
void refuse_unless_splittable(const CheckedPipeline& pipeline);

/// What determines the content of all parts together.
struct PartInputs {
  std::string pipeline;                      ///< resolved
  Roles roles;                               ///< of its keys
  std::map<std::string, std::string> files;  ///< SHA-256 of data and weights by key
  std::vector<std::string> plugins;          ///< SHA-256, sorted
  std::string program;                       ///< versions, device, precision, determinism
};
/// `pipeline`: resolved.
[[nodiscard]] PartInputs inputs_of(const Launch& launch, std::string pipeline);
/// Those of a shard that this process would run.
[[nodiscard]] PartInputs inputs_of(const CheckedPipeline& pipeline);
/// Those of a part's run. Throws like read_launch().
[[nodiscard]] PartInputs read_inputs(const std::filesystem::path& part);
/// The first kind of difference that can change results, such as "stage.batch.size = 8 (was 5)";
/// empty if there is none.
[[nodiscard]] std::string difference_between(const PartInputs& before, const PartInputs& now);

/// The same text for inputs without a difference.
[[nodiscard]] std::string digest_of(const PartInputs& inputs);

/// Throws seam::Error (configuration) if `out` contains parts that were not made from these inputs
/// and with this number of shards.
void refuse_other_parts(const std::filesystem::path& out, const Shard& shard,
                        const PartInputs& inputs);

/// Throws seam::Error (configuration) if another part of the run's folder, one that has ended, read
/// other lists: a folder's files do not belong to PartInputs.
void refuse_other_lists(const std::filesystem::path& run, const Listings& now);

/// The files that the stages wrote, with their SHA-256.
[[nodiscard]] std::map<std::string, std::string> written_files(
    const CheckedPipeline& pipeline, const std::filesystem::path& run_directory);
/// Tells the stages that they write parts.
void begin_parts(const CheckedPipeline& pipeline);

/// Why the files of a complete part are not those that its run wrote; empty if they are.
[[nodiscard]] std::string damage_of(const std::filesystem::path& part);

}  // namespace seam::host
