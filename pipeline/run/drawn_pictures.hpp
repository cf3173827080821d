/// The images that stages drew while a flow ran.
///
///     pictures/neighbours/epoch-0012.json {"flow":"evaluate", ... "file":"epoch-0012/1.jpg"}
///         ──► evaluate/neighbours/Category 3/queries 1/query, .../epoch-0012/1.jpg
///     from a set with "sheet":"epoch-0012/sheet.jpg", only the sheet
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
  std::vector<DrawnPicture> pictures;  ///< stages in alphabetical order, images in JSON order
  std::vector<std::string> problems;   ///< sentences about sets that cannot be read
};

/// Returns whether the path of an image is relative and stays inside its set's folder.
[[nodiscard]] bool stays_inside(const std::filesystem::path& file);

/// The images of this flow and epoch in a run folder.
[[nodiscard]] DrawnPictures drawn_pictures(const std::filesystem::path& run,
                                           const std::string& flow, std::int64_t epoch);

}  // namespace seam::host
