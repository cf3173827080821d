/// The pictures that stages drew while a flow ran.
///
///     pictures/neighbours/epoch-0012.json {"flow":"evaluate", ... "file":"epoch-0012/1.jpg"}
///         ──► evaluate/neighbours/Category 3/queries 1/query, .../epoch-0012/1.jpg
///     of a set with "sheet":"epoch-0012/sheet.jpg", which shows all of its pictures, only that
///         ──► evaluate/neighbours, .../epoch-0012/sheet.jpg
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace seam::host {

struct DrawnPicture {
  std::string title;  ///< the same in each epoch; words between slashes
  std::filesystem::path file;
};

struct DrawnPictures {
  std::vector<DrawnPicture> pictures;  ///< stages in alphabetical order, each as its JSON has them
  std::vector<std::string> problems;   ///< sentences on sets that cannot be read
};

/// Those of a run's folder that are of this flow and epoch.
[[nodiscard]] DrawnPictures drawn_pictures(const std::filesystem::path& run,
                                           const std::string& flow, std::int64_t epoch);

}  // namespace seam::host
