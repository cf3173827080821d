/// Reads the state of a run from its folder, without loading a plugin.
///
///     lock held ─────────────────────────► running
///     summary.json ── complete ──────────► complete
///                  ├─ stopped on request ► stopped
///                  └─ an error, a crash ─► failed
///     no summary.json ───────────────────► interrupted: it was killed
///     no resolved.toml ──────────────────► missing: it has not begun
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/config/parameters.hpp"
#include "pipeline/run/listings.hpp"
#include "pipeline/run/summary.hpp"

namespace seam::host {

enum class RunState : std::uint8_t { missing, running, complete, stopped, failed, interrupted };

/// "complete", "not started", ...
std::string state_text(RunState state);

/// Reads a resolved.toml. Throws seam::Error (data) if it is not valid TOML.
Parameters read_parameters(const std::filesystem::path& resolved);
/// The value of a string parameter; empty if it is not set.
std::string text_parameter(const Parameters& parameters, std::string_view key);

/// Suffix of the key with the content's hash of a file that a parameter names.
inline constexpr std::string_view content_suffix = " (content)";

/// The parameter that names the checkpoint from which a run was started.
inline constexpr std::string_view from_key = "from";

/// The parameter of an evaluation that names the checkpoint that it measures.
inline constexpr std::string_view evaluates_key = "evaluates";

struct RunFolder {
  std::filesystem::path path;
  std::string name;  ///< for messages
  RunState state = RunState::missing;
  std::string note;      ///< why it failed, or by which process it runs; may be empty
  std::string started;   ///< date and time, UTC
  std::string pipeline;  ///< the file, absolute
  std::int64_t epochs_done = 0;
  std::int64_t epochs = 0;
  /// The keys of its pipeline; "from": the checkpoint of another run that it started from, if any;
  /// and "KEY (content)": hashes of the files that these name. An evaluation (evaluates_key) has
  /// the values with which its networks were trained.
  Parameters parameters;
  Roles roles;  ///< of those keys
  /// Values of the keys that an evaluation's user changed.
  Parameters evaluated_with;
  /// How the checkpoint that an evaluation measures was selected: "last", or "best by" a metric;
  /// empty if it is not recorded.
  std::string weights;
  /// Digests of its data sets' lists, by stage; none if its version did not record them, or until
  /// it ended.
  std::optional<Listings> listings;
  std::vector<FlowTotal> flows;       ///< of the last process that ran it; empty until that ended
  std::uint64_t skipped_packets = 0;  ///< of all processes; 0 until the last one ended
};

/// Whether the folder holds a run.
bool is_run_folder(const std::filesystem::path& folder);

/// A folder without a run is `missing`. Throws seam::Error (data) if a file in it is damaged.
RunFolder read_run(const std::filesystem::path& folder, const std::string& name);

}  // namespace seam::host
