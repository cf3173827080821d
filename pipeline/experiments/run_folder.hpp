/// What a run's folder says of the run, without loading a plugin.
///
///     lock held ─────────────────────────► running
///     summary.json ── complete ──────────► complete
///                  ├─ stopped on request ► stopped
///                  └─ an error ──────────► failed
///     no summary.json ───────────────────► interrupted: it was killed
///     no resolved.toml ──────────────────► missing: it has not begun
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/config/parameters.hpp"
#include "pipeline/run/summary.hpp"

namespace seam::host {

enum class RunState : std::uint8_t { missing, running, complete, stopped, failed, interrupted };

/// "complete", "not started", ...
std::string state_text(RunState state);

/// Reads a resolved.toml. Throws seam::Error (data) where it is no TOML.
Parameters read_parameters(const std::filesystem::path& resolved);
/// The value of a parameter that is a text; empty where there is none.
std::string text_parameter(const Parameters& parameters, std::string_view key);

/// Behind a parameter that names a file: the hash of its content.
inline constexpr std::string_view content_suffix = " (content)";

/// The parameter that names the checkpoint with which a run began.
inline constexpr std::string_view from_key = "from";

/// The parameter of an evaluation that names the checkpoint that it measures.
inline constexpr std::string_view evaluates_key = "evaluates";

struct RunFolder {
  std::filesystem::path path;
  std::string name;  ///< as messages call it
  RunState state = RunState::missing;
  std::string note;      ///< why it failed, or by which process it runs; may be empty
  std::string started;   ///< date and time, UTC
  std::string pipeline;  ///< the file, absolute
  std::int64_t epochs_done = 0;
  std::int64_t epochs = 0;
  /// Of its pipeline; "KEY (content)": hashes of the files that keys name; and "from": the
  /// checkpoint of another run with which it began, if it did. An evaluation (evaluates_key) has
  /// those with which its networks were trained.
  Parameters parameters;
  std::vector<FlowTotal> flows;  ///< of the process that worked on it last; empty until it ended
};

/// Whether the folder holds a run.
bool is_run_folder(const std::filesystem::path& folder);

/// A folder without a run is `missing`. Throws seam::Error (data) where a file in it is damaged.
RunFolder read_run(const std::filesystem::path& folder, const std::string& name);

}  // namespace seam::host
