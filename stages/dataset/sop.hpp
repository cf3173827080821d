/// The source `dataset.sop`: images of Stanford Online Products, one split at a time.
///
///     image_id class_id super_class_id path                      <- column names
///     1        1        1              bicycle_final/111085122871_0.JPG
///                                      '-----'- name of super-class 1
///
/// Ebay_train.txt and Ebay_test.txt are the two halves, of different classes; Ebay_info.txt has the
/// rows of both. Source: H. O. Song, Y. Xiang, S. Jegelka, S. Savarese, "Deep Metric Learning via
/// Lifted Structured Feature Embedding", CVPR 2016, and its data set's files.
#pragma once

#include "stages/dataset/counted_list.hpp"
#include "stages/dataset/listed_pictures.hpp"
#include "stages/published_lists.hpp"

namespace seam::stages {

enum class SopSplit : std::uint8_t { train, test };

struct SopRow {
  std::string path;           ///< as written, relative to the data set's root
  std::int64_t image = 0;     ///< image_id
  std::int64_t item = 0;      ///< class_id, the unit of retrieval
  std::int64_t category = 0;  ///< super_class_id - 1
  std::int64_t line = 0;      ///< line in its list
};

/// Images and classes of a split.
struct SopCounts {
  std::int64_t images = 0;
  std::int64_t items = 0;

  friend bool operator==(const SopCounts&, const SopCounts&) = default;
};

/// 59,551 training images of 11,318 classes, 60,502 test images of 11,316 classes.
[[nodiscard]] constexpr std::array<SopCounts, 2> published_sop_counts() {
  return {SopCounts{59'551, 11'318}, SopCounts{60'502, 11'316}};
}

struct SopLists {
  std::array<std::vector<SopRow>, 2> rows;  ///< indexed by the split; in file order
  std::array<SopCounts, 2> counts;
  /// Super-class names by number, for both lists: the folder of all its images, without "_final",
  /// or else "super-class 3".
  std::vector<std::string> categories;
  /// Test images that have no other image of their class: no search can find them.
  std::int64_t lone_test_images = 0;
  /// Images of both lists that are not in Ebay_info.txt, and the reverse.
  std::int64_t not_in_info = 0;
  std::int64_t only_in_info = 0;
};

/// Joins the lists. `info` is optional: it contains nothing that the others lack. Throws
/// seam::Error with file and line if a list is malformed or empty, a path leaves the data set's
/// root, an image is listed twice in both lists together, a class is in both, or `info` contradicts
/// a list.
[[nodiscard]] SopLists join_sop_lists(const ListText& train, const ListText& test,
                                      const std::optional<ListText>& info = {});

class Sop final : public ListedPictures, public PublishedLists {
 public:
  static constexpr std::string_view name = "dataset.sop";

  void declare(Declaration& d) override;
  void open(Context& context) override;
  [[nodiscard]] std::string difference() const override { return difference_; }
  [[nodiscard]] std::string published_name() const override { return "sop"; }

 private:
  [[nodiscard]] SopLists read() const;
  [[nodiscard]] std::string difference_of(const SopLists& lists) const;

  std::filesystem::path root_;
  SopSplit split_ = SopSplit::train;
  std::string difference_;
};

}  // namespace seam::stages
