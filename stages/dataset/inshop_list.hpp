/// Reads the partition list of DeepFashion's In-Shop benchmark, the file that assigns each image to
/// an item and to training, queries or gallery.
///
///     52712                                                      <- number of rows
///     image_name item_id evaluation_status                       <- column names
///     img/WOMEN/Dresses/id_00000002/02_1_front.jpg   id_00000002 gallery
///         '---.-------' category WOMEN_Dresses
///
/// Source: DeepFashion In-Shop, Eval/list_eval_partition.txt (Liu et al., CVPR 2016). Any data set
/// written in the same layout can be read.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stages/dataset/counted_list.hpp"

namespace seam::stages {

enum class Split : std::uint8_t { train, query, gallery };

/// "train", "query" or "gallery".
[[nodiscard]] std::string_view split_name(Split split);
/// The reverse; nullopt if the word is none of the three.
[[nodiscard]] std::optional<Split> split_from_name(std::string_view name);

/// One image of the list.
struct InshopRow {
  std::string path;           ///< as written, relative to the data set's root: "img/WOMEN/..."
  std::string item;           ///< the item id: "id_00000002"
  std::int32_t category = 0;  ///< index into InshopList::categories
  Split split = Split::train;
  std::int64_t line = 0;  ///< line of the list, counted from 1
};

/// Properties of a list that matter for judging results computed with it.
struct InshopReport {
  std::array<std::int64_t, 3> images{};  ///< indexed by Split
  std::array<std::int64_t, 3> items{};
  /// Train items with one image: they have no positive but themselves (12 in the official list).
  std::vector<std::string> single_image_train_items;
  /// Allowed: 99 items of the official list are in more than one category folder.
  std::vector<std::string> items_in_several_categories;
  /// Query items without a gallery image: no search can find them. None in the official list.
  std::vector<std::string> query_items_without_gallery;
  std::int64_t lone_queries = 0;  ///< the images of those items

  /// The report as a few lines of plain text, without a final newline.
  [[nodiscard]] std::string text() const;
};

struct InshopList {
  std::vector<InshopRow> rows;  ///< every data row, in file order
  /// "MEN_Denim" ... sorted bytewise. One vocabulary over all splits, so that a category has the
  /// same number whichever split is served (the released code sorts each split separately).
  std::vector<std::string> categories;
  InshopReport report;

  /// The rows of one split, in file order.
  [[nodiscard]] std::vector<InshopRow> of(Split split) const;
};

/// Required number of images in each split; a split without a number is not checked.
struct ExpectedCounts {
  std::optional<std::int64_t> train;
  std::optional<std::int64_t> query;
  std::optional<std::int64_t> gallery;
};

/// Parses a list held in memory. Throws seam::Error with file and line if the list is malformed,
/// leaves the data set's root, contradicts itself, has an item both in train and in query or
/// gallery, or does not have the expected numbers of images.
[[nodiscard]] InshopList parse_inshop_list(const ListText& list,
                                           const ExpectedCounts& expected = {});

/// Reads a list file; throws like parse_inshop_list, and if the file cannot be read.
[[nodiscard]] InshopList read_inshop_list(const std::filesystem::path& file,
                                          const ExpectedCounts& expected = {});

}  // namespace seam::stages
