/// The file that weights are loaded from, and how its run ended. For the program only; plugins read
/// weights with read_weights() of <seam/safetensors.hpp>.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "seam/export.hpp"

namespace seam::host {

/// The file that read_weights() reads, and the metadata on how it was selected.
struct WeightsFile {
  std::filesystem::path path;
  std::map<std::string, std::string> metadata;  ///< its own
  /// Metadata of the checkpoint that records which one is the best: a run's newest, otherwise the
  /// file itself.
  std::map<std::string, std::string> chooser;
};
/// Throws like read_weights() if there is no such file.
[[nodiscard]] SEAM_EXPORT WeightsFile weights_file(const std::filesystem::path& file_or_run);

/// How the last process of a run left it.
struct EndedRun {
  bool complete = false;
  std::int64_t epochs_done = 0;
};
/// Reads a summary.json; not complete, with 0 epochs, if there is none.
[[nodiscard]] SEAM_EXPORT EndedRun ended_run(const std::filesystem::path& summary);

}  // namespace seam::host
