/// The source `dataset.category`: images of DeepFashion's Category and Attribute Prediction
/// Benchmark, one split at a time, joined from its lists:
///
///     list_category_cloth.txt    Anorak 1, Blazer 1, Blouse 1, ...     the vocabulary
///     list_category_img.txt      img/Sheer_Blouse/img_00000001.jpg 3   counted from 1: Blouse
///     list_eval_partition.txt    img/Sheer_Blouse/img_00000001.jpg train
///     list_bbox.txt              img/Sheer_Blouse/img_00000001.jpg 072 079 232 273
///
/// Source: Liu et al., "DeepFashion: Powering Robust Clothes Recognition and Retrieval with Rich
/// Annotations", CVPR 2016.
#pragma once

#include "stages/dataset/counted_list.hpp"
#include "stages/dataset/listed_pictures.hpp"
#include "stages/published_lists.hpp"

namespace seam::stages {

enum class CategorySplit : std::uint8_t { train, validation, test };

/// Which categories are numbered, from 0, in the order of the vocabulary.
enum class CategoryNumbers : std::uint8_t {
  used,  ///< only those that occur in some split: 46 of the official 50
  all,
};

struct CategoryRow {
  std::string path;  ///< as written, relative to the data set's root
  std::string item;  ///< the image's folder
  std::int64_t category = 0;
  CategorySplit split = CategorySplit::train;
  std::array<float, 4> box{};  ///< left, top, right, bottom; zeros without a list of boxes
  std::int64_t line = 0;       ///< line in the list of images
};

struct CategoryList {
  std::vector<CategoryRow> rows;         ///< in the order of the list of images
  std::vector<std::string> categories;   ///< by number
  std::array<std::int64_t, 3> images{};  ///< indexed by the split
};

struct CategoryLists {
  ListText images;
  ListText categories;
  ListText partition;
  std::optional<ListText> boxes;
};

/// Throws seam::Error with file and line if a list is malformed, a path leaves the data set's root
/// or has no folder, or the lists do not cover the same images, each once.
[[nodiscard]] CategoryList join_category_lists(const CategoryLists& lists,
                                               CategoryNumbers numbers = CategoryNumbers::used);

class Category final : public ListedPictures, public PublishedLists {
 public:
  static constexpr std::string_view name = "dataset.category";

  void declare(Declaration& d) override;
  void open(Context& context) override;
  [[nodiscard]] std::string difference() const override { return difference_; }
  [[nodiscard]] std::string published_name() const override { return "deepfashion-category-test"; }

 private:
  enum class Boxes : std::uint8_t { ignore, field };

  void add_fields(Packet& packet, std::size_t row) const override;
  [[nodiscard]] CategoryList read() const;
  void check(const CategoryList& list) const;
  [[nodiscard]] std::string difference_of(const CategoryList& list) const;

  std::filesystem::path root_;
  std::filesystem::path annotations_ = "Anno_coarse";
  std::filesystem::path partition_ = "Eval/list_eval_partition.txt";
  CategorySplit split_ = CategorySplit::train;
  CategoryNumbers numbers_ = CategoryNumbers::used;
  Boxes boxes_ = Boxes::ignore;
  std::array<std::optional<std::int64_t>, 3> expected_;
  std::optional<std::int64_t> expected_categories_;

  std::string difference_;
  std::vector<std::array<float, 4>> box_of_row_;
};

}  // namespace seam::stages
