/// The source `dataset.landmarks`: In-Shop's images with their landmarks and, optionally, the
/// attributes of the item.
///
///     list_eval_partition.txt ──┐
///     list_landmarks_inshop.txt ┼──► path, item, category, index, landmarks, visibility,
///     list_attr_items.txt ──────┘    (attributes)
///
/// The lists, besides the partition list:
///
///     list_landmarks_inshop.txt
///       52712
///       image_name clothes_type variation_type landmark_visibility_1 landmark_location_x_1 ...
///       img/WOMEN/Tees_Tanks/id_00000008/01_1_front.jpg 1 1 0 146 13 0 109 13 1 ...
///                                                       │ │ '-----' a landmark: state, x, y
///             1 upper-body (6), 2 lower-body (4), 3 full-body (8 landmarks)
///
///     list_attr_cloth.txt   463, attribute_name, one name per line
///     list_attr_items.txt   7982, item_id attribute_labels, then id_00000001 -1 1 0 ...
///
/// Source: Liu et al., "DeepFashion", CVPR 2016, version 1.2 of the benchmark's README.
#pragma once

#include <unordered_map>

#include "stages/dataset/counted_list.hpp"
#include "stages/dataset/inshop.hpp"
#include "stages/landmarks.hpp"

namespace seam::stages {

/// How to treat images and items that are not in the partition list.
enum class Unlisted : std::uint8_t { refuse, ignore };

struct LandmarksOfImage {
  LandmarkPositions positions{};
  LandmarkVisibility states{};
};

/// The landmarks of each row of the partition, in its order. `partition_name` is its file's name in
/// messages. Throws seam::Error with file and line if the list is malformed, does not cover the
/// partition, each image once, or has other images and `unlisted` rejects that.
[[nodiscard]] std::vector<LandmarksOfImage> join_landmarks(const ListText& landmarks,
                                                           const InshopList& partition,
                                                           const std::string& partition_name,
                                                           Unlisted unlisted);

struct ItemAttributes {
  std::size_t count = 0;  ///< number of attributes
  /// In the form of field::attributes.
  std::unordered_map<std::string, std::vector<std::uint8_t>> of_item;
};

/// The attributes of the partition's items. Throws seam::Error as join_landmarks does.
[[nodiscard]] ItemAttributes join_attributes(const ListText& names, const ListText& items,
                                             const InshopList& partition,
                                             const std::string& partition_name, Unlisted unlisted);

class Landmarks final : public InshopPictures {
 public:
  static constexpr std::string_view name = "dataset.landmarks";

  void declare(Declaration& d) override;
  void open(Context& context) override;

 private:
  enum class Attributes : std::uint8_t { ignore, field };

  void add_fields(Packet& packet, std::size_t row) const override;
  void open_attributes(const InshopList& partition, const Context& context);

  std::filesystem::path root_;
  std::filesystem::path list_ = "Eval/list_eval_partition.txt";
  std::filesystem::path landmarks_ = "Anno/list_landmarks_inshop.txt";
  std::filesystem::path attribute_lists_ = "Anno";
  Attributes attributes_ = Attributes::ignore;
  Unlisted unlisted_ = Unlisted::refuse;
  ExpectedCounts expected_;
  std::optional<std::int64_t> expected_attributes_;
  // Of the split's images.
  std::vector<LandmarksOfImage> of_image_;
  std::vector<std::string> items_;
  ItemAttributes of_item_;
};

}  // namespace seam::stages
