/// How the inputs of a run differ from those that an earlier process recorded: the one that it
/// resumes, starts from or evaluates. A difference is a warning, except for data of a run that is
/// resumed.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "pipeline/run/checkpoint.hpp"
#include "pipeline/run/run_directory.hpp"
#include "pipeline/run/run_parts.hpp"

namespace seam::host {

/// Lines "hash path", to compare.
[[nodiscard]] std::string plugin_lines(const std::vector<PluginUsed>& plugins);

/// Warns if relative paths are looked up in a different folder.
void warn_of_other_folder(const Launch& recorded, const Launch& now, RunServices& services);

/// Warns if `now`, which evaluates the networks of `training`, reads other data, except for that of
/// keys in `now.evaluated_with`, or uses other plugins.
void warn_of_changes_since(const Launch& training, const Launch& now, const RunIdentity& identity,
                           RunServices& services);

/// Warnings for stages that import weights from the folder of a run that is not complete, or in
/// which they have other parameters or read other files: a different network may have weights of
/// the same names.
[[nodiscard]] std::vector<std::string> check_imported_files(const CheckedPipeline& pipeline,
                                                            const Launch& now);

/// The lists of the data sets of the run that `now` evaluates, from the evaluated checkpoint; empty
/// if an earlier version wrote it.
[[nodiscard]] Listings listings_of_evaluated(const Launch& now);

/// Warns of the checkpoint's numerics and plugins.
void warn_of_differences(const Checkpoint& checkpoint, const RunIdentity& identity,
                         RunServices& services);

/// The data of an earlier process, with which that of a run is compared.
class RecordedData {
 public:
  /// `files`: as data_files() returned them then.
  void add_files(const std::map<std::string, std::string>& files) {
    files_.insert(files.begin(), files.end());
  }
  void add_listings(const Listings& listings) {
    listings_.insert(listings.begin(), listings.end());
  }
  /// Changes are warnings that end in `consequence`, and none if the user made them: `keys` have
  /// other values.
  void only_warn(std::string consequence, const std::set<std::string>& keys, const Roles& roles,
                 RunServices& services);

  /// Throws seam::Error (configuration) that names the files that have changed; `run` is the
  /// folder.
  void check_files(const std::map<std::string, std::string>& now,
                   const std::filesystem::path& run) const;
  /// The same for what data sets list.
  void check_listings(const Listings& now, const std::filesystem::path& run) const;

 private:
  void refuse(const std::string& what, const std::filesystem::path& run) const;

  std::map<std::string, std::string> files_;
  Listings listings_;
  std::string consequence_;
  std::set<std::string> keys_;
  std::set<std::string> stages_;  // with other paths
  RunServices* warns_ = nullptr;  // the run's, outlives this; null: changes are errors
};

}  // namespace seam::host
