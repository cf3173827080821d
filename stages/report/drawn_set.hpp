/// The files that a drawing stage leaves for one epoch, as `seam report` finds them.
///
///     pictures/STAGE/epoch-0012.json      what is shown, naming the files
///                   /epoch-0012/1.jpg     written before it
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <seam/context.hpp>
#include <span>
#include <string>

namespace seam::stages {

class DrawnSet {
 public:
  DrawnSet() = default;
  /// `folder` holds those of all stages; relative to the run's.
  DrawnSet(const std::filesystem::path& folder, const Context& context);

  /// The name for the JSON. Throws seam::Error where it cannot be written.
  [[nodiscard]] std::string write_picture(const std::string& file,
                                          std::span<const std::uint8_t> bytes) const;
  /// Whether such a picture is there, and its name for the JSON.
  [[nodiscard]] bool has(const std::string& file) const;
  [[nodiscard]] std::string name_of(const std::string& file) const { return epoch_ + "/" + file; }
  /// Adds format, flow and epoch.
  void write(const std::string& kind, nlohmann::ordered_json content) const;

 private:
  std::filesystem::path folder_;
  std::string epoch_;  // "epoch-0012", as a run's reports are named
  std::string flow_;
  std::int64_t number_ = 0;
};

}  // namespace seam::stages
