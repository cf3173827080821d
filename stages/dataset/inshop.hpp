/// The source `dataset.inshop`: images of DeepFashion's In-Shop benchmark, or of any data set in
/// its layout, one split at a time; and the base of all data sets in this layout.
///
///     list ──► rows of the split ──► ListedPictures: fold, `limit` ──► packets
#pragma once

#include "stages/dataset/inshop_list.hpp"
#include "stages/dataset/listed_pictures.hpp"
#include "stages/published_lists.hpp"

namespace seam::stages {

/// Describes as a clause how the list differs from the official partition; empty if all known
/// numbers agree: images and items of each split, 23 categories, and for six of these the query
/// images and items.
///
/// The counts alone do not suffice: a random partition can have 14,218 queries of 3,985 items too,
/// but only in the official one do 2,094 of 697 show WOMEN_Blouses_Shirts.
///
/// Source: Liu et al., "DeepFashion", CVPR 2016; O. F. Kınlı, "Clothing Image Retrieval with
/// Triplet Capsule Networks", 2019, table 9. Its 1,091 query images of WOMEN_Dresses are not used:
/// fewer than two for each of 624 items, compared with three to five in other categories, look like
/// a misprint.
[[nodiscard]] std::string difference_from_official(const InshopList& list);

class InshopPictures : public ListedPictures, public PublishedLists {
 public:
  /// Difference from In-Shop's official queries and gallery.
  [[nodiscard]] std::string difference() const final { return difference_; }
  [[nodiscard]] std::string published_name() const final { return "inshop"; }

 protected:
  /// Declares `split`, `limit`, the folds' parameters and the fields.
  void declare_split(Declaration& d);
  /// Reads the list and logs a summary. Throws seam::Error as read_inshop_list does, if the split
  /// is empty, or if its first image is not under `root`.
  void serve_list(const std::filesystem::path& root, const std::filesystem::path& list,
                  const ExpectedCounts& expected, const Context& context);
  [[nodiscard]] Split split() const { return split_; }

 private:
  Split split_ = Split::train;
  std::string difference_;
};

class Inshop final : public InshopPictures {
 public:
  static constexpr std::string_view name = "dataset.inshop";

  void declare(Declaration& d) override;
  void open(Context& context) override;

 private:
  std::filesystem::path root_;
  std::filesystem::path list_ = "Eval/list_eval_partition.txt";
  ExpectedCounts expected_;
};

}  // namespace seam::stages
