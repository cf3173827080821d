/// The files that a drawing stage writes for one epoch, in the layout that `seam report` reads.
///
///     pictures/STAGE/epoch-0012.json      the content, with the names of the files
///                   /epoch-0012/1.jpg     written before it
#pragma once

#include <nlohmann/json.hpp>
#include <seam/context.hpp>

namespace seam::stages {

class DrawnSet {
 public:
  DrawnSet() = default;
  /// `folder` holds the drawings of all stages; relative to the run folder.
  DrawnSet(const std::filesystem::path& folder, const Context& context);

  /// Writes an image and returns its name for the JSON. Throws seam::Error if it cannot be written.
  [[nodiscard]] std::string write_picture(const std::string& file,
                                          std::span<const std::uint8_t> bytes) const;
  /// Whether such an image exists, and its name for the JSON.
  [[nodiscard]] bool has(const std::string& file) const;
  [[nodiscard]] std::string name_of(const std::string& file) const { return epoch_ + "/" + file; }
  /// Adds format, flow and epoch.
  void write(const std::string& kind, nlohmann::ordered_json content) const;

 private:
  std::filesystem::path folder_;
  std::string epoch_;  // "epoch-0012", like the names of a run's reports
  std::string flow_;
  std::int64_t number_ = 0;
};

}  // namespace seam::stages
