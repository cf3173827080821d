/// Common code of tests of data sets: files in a test's own folder, lists in the In-Shop layout.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <seam/category_names.hpp>
#include <seam/error.hpp>
#include <seam/testing.hpp>
#include <string>
#include <vector>

#include "stages/published_lists.hpp"
#include "stages/served_items.hpp"
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

/// The category names of an opened data set.
inline const std::vector<std::string>& names_of(testing::Harness& harness) {
  void* found = harness.runner().interface(type_name<CategoryNames>());
  return static_cast<CategoryNames*>(found)->category_names();
}

/// The items of an opened data set.
inline const ServedItems::Names& served_of(testing::Harness& harness) {
  void* found = harness.runner().interface(type_name<ServedItems>());
  return static_cast<ServedItems*>(found)->served_items();
}

/// How an opened data set differs from the published one.
inline std::string difference_of(testing::Harness& harness) {
  void* found = harness.runner().interface(type_name<PublishedLists>());
  return static_cast<PublishedLists*>(found)->difference();
}

/// One folder for all stages of a conformance check: `fill` fills it for the first stage, and it is
/// removed with the last.
inline std::shared_ptr<TemporaryFolder> shared_folder(
    const std::function<void(const TemporaryFolder&)>& fill = {}) {
  static std::weak_ptr<TemporaryFolder> shared;
  std::shared_ptr<TemporaryFolder> folder = shared.lock();
  if (!folder) {
    folder = std::make_shared<TemporaryFolder>();
    if (fill) fill(*folder);
    shared = folder;
  }
  return folder;
}

/// The message of the seam::Error that the action throws.
inline std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.full_message();
  }
  return "no error";
}

/// A list with the given rows and the count that fits them.
inline std::string list_of(const std::vector<std::string>& rows) {
  std::string text = std::to_string(rows.size()) + "\nimage_name item_id evaluation_status\n";
  for (const std::string& row : rows) text += row + "\n";
  return text;
}

}  // namespace seam::stages
