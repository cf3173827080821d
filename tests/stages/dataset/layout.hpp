/// Data sets in the In-Shop layout, in a folder of a test's own.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/temporary_folder.hpp"

namespace seam::stages {

using test::TemporaryFolder;

inline void write_file(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

inline std::string file_content(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A list with the given rows and the count that fits them.
inline std::string list_of(const std::vector<std::string>& rows) {
  std::string text = std::to_string(rows.size()) + "\nimage_name item_id evaluation_status\n";
  for (const std::string& row : rows) text += row + "\n";
  return text;
}

}  // namespace seam::stages
