/// A CSV file of somebody's own pictures: which columns it has, and how it is divided into pictures
/// to train with and pictures to evaluate on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace seam::host {

struct OwnTable {
  char separator = ',';
  std::string path_column;
  std::string item_column;
  std::string train;              ///< value of the column 'split'; empty: there is no such column
  std::string query;              ///< the same; equal to `gallery`: leave-one-out
  std::string gallery;            ///< the same
  std::int64_t train_items = 0;   ///< how many to train with
  std::int64_t train_images = 0;  ///< their pictures
  std::int64_t held_out = 0;      ///< without splits: how many items are left for the evaluation
};

/// Reads the table. Throws seam::Error: data if it cannot be read, configuration if it has no
/// column of files or items, too few items, or splits that cannot be told apart by name.
[[nodiscard]] OwnTable read_own_table(const std::filesystem::path& file);

}  // namespace seam::host
