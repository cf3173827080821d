/// The run folder of a rank other than the first: private, temporary, and removed at the end, so
/// that stages need not know that only the first rank's files count.
#pragma once

#include <filesystem>

namespace seam::host {

class RankFolder {
 public:
  /// Creates a folder in the system's temporary folder. Throws seam::Error (data).
  RankFolder();
  ~RankFolder();
  RankFolder& operator=(RankFolder&&) = delete;  // not copyable

  /// For a new run: a folder that does not exist.
  [[nodiscard]] std::filesystem::path empty() const { return folder_ / "run"; }
  /// For a run to resume: copies of the files that it reads, and links to its checkpoints. Throws
  /// std::filesystem::filesystem_error.
  [[nodiscard]] std::filesystem::path copy_of(const std::filesystem::path& run) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace seam::host
