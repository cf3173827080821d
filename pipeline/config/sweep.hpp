/// The table [sweep] of a pipeline file: parameter values for `seam sweep`. `seam run` ignores it.
///
///     [sweep]
///     over = ["stage.triplet_loss.margin=0.2,0.5,1", "pipeline.seed=1..3"]
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/config/document.hpp"
#include "pipeline/config/findings.hpp"
#include "pipeline/config/host_keys.hpp"
#include "pipeline/config/problem.hpp"
#include "pipeline/config/variables.hpp"
#include "pipeline/config/variants.hpp"

namespace seam::host {

struct SweepSpec {
  std::vector<std::string> over;       ///< axes, as parse_axis() reads them
  std::optional<std::int64_t> random;  ///< combinations to draw; none: all of them
  std::uint64_t random_seed = 0;

  friend bool operator==(const SweepSpec&, const SweepSpec&) = default;
};

HostTable sweep_table(SweepSpec& sweep);

/// The content of the table; empty if there is none. Invalid axes are reported.
SweepSpec read_sweep(const Table& tree, const VariantNames& variants, Findings& findings);

struct LoadedSweep {
  SweepSpec spec;
  VariantNames variants;
  std::vector<Problem> problems;  ///< of this table, and of files that cannot be read
};
/// The table and the variants of a file and those it extends, with --set laid over.
LoadedSweep load_sweep(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                       const Environment& environment);

}  // namespace seam::host
