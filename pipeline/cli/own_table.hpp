/// A CSV file of the user's own images: its columns, and its division into images for training and
/// images for the evaluation.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace seam::host {

struct OwnTable {
  char separator = ',';
  std::string path_column;
  std::string item_column;
  std::string train;              ///< value in the column 'split'; empty: there is no such column
  std::string query;              ///< the same, or "validation/query" if a flag selects the rows
  std::string gallery;            ///< the same
  bool leave_one_out = false;     ///< whether images are both query and in the gallery
  std::int64_t train_items = 0;   ///< number of items for training
  std::int64_t train_images = 0;  ///< number of their images
  std::int64_t held_out = 0;      ///< number of items for the evaluation; 0 if there are splits
};

/// Reads the table. Throws seam::Error: data if it cannot be read; configuration if it lacks a
/// column with files or items, has too few items, has splits with unknown names, or has only one of
/// queries and gallery among its flags.
[[nodiscard]] OwnTable read_own_table(const std::filesystem::path& file);

}  // namespace seam::host
