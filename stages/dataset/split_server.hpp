/// Serves one split of an In-Shop list, one packet per image: the common part of all data sets in
/// this layout.
///
///     list ──► rows of the split ──► PictureRows: fold, `limit`, rank ──► packets
///
/// Fields: path (under the root), item ("id_00000002"), category (index in the sorted vocabulary of
/// all splits), index (position in the split before folds cut it, the same for any number of
/// ranks). The origin is the list and the row's line.
#pragma once

#include <filesystem>
#include <seam/stage.hpp>
#include <string>
#include <vector>

#include "stages/dataset/inshop_list.hpp"
#include "stages/dataset/picture_rows.hpp"
#include "stages/published_lists.hpp"

namespace seam::stages {

class SplitServer final : public PublishedLists {
 public:
  /// Declares `split`, `limit`, the folds' parameters and the fields.
  void declare(Declaration& declaration);
  /// Declares `expect_train`, `expect_query` and `expect_gallery`.
  static void declare_counts(Declaration& declaration, ExpectedCounts& expected);
  /// Reads the list, logs a summary and returns the list. Throws seam::Error as read_inshop_list
  /// does, if the split is empty, or if its first image is not under `root`.
  InshopList open(const std::filesystem::path& root, const std::filesystem::path& list,
                  const ExpectedCounts& expected, const Context& context);
  /// Returns to the first image.
  void begin() { rows_.begin(); }
  /// Emits the next image of this rank; `add` may add fields, given its position in the split.
  More produce(Emitter& emitter, const Context& context, const PictureRows::Addition& add = {}) {
    return rows_.produce(emitter, context, add);
  }
  [[nodiscard]] Split split() const { return split_; }
  /// Of all splits, from open() on.
  [[nodiscard]] const std::vector<std::string>& category_names() const { return categories_; }
  /// Logs how the images of an evaluation differ from the official ones, if they do.
  void tell_difference(const Context& context) const;
  /// Difference from In-Shop's official queries and gallery.
  [[nodiscard]] std::string difference() const override { return difference_; }
  [[nodiscard]] std::string published_name() const override { return "inshop"; }

 private:
  Split split_ = Split::train;
  std::vector<std::string> categories_;
  std::string difference_;
  PictureRows rows_;
};

}  // namespace seam::stages
