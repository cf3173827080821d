/// The images that stages drew during a run, with their files as data URIs.
///
///     pictures/neighbours/epoch-0012.json  {"format":1, "kind":"neighbours", ... "file":"a.jpg"}
///                        /epoch-0012/a.jpg                                          │
///                                                              "picture":"data:image/jpeg;..."
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "pipeline/text/json.hpp"

namespace seam::host {

/// The newest set of each folder in RUN/pictures, each with "stage", the folder's name. A set that
/// cannot be read or has an unknown format becomes a note instead of an error.
std::vector<Json> read_pictures(const std::filesystem::path& run, std::vector<std::string>& notes);

/// Bytes as text, for data URIs: RFC 4648, with padding.
std::string base64(std::span<const std::byte> bytes);

}  // namespace seam::host
