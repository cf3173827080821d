/// The source `dataset.landmarks`: In-Shop's images with their landmarks and, optionally, the
/// attributes of the item.
///
///     list_eval_partition.txt ──┐
///     list_landmarks_inshop.txt ┼──► path, item, category, index, landmarks, visibility,
///     list_attr_items.txt ──────┘    (attributes)
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <seam/category_names.hpp>
#include <seam/stage.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "stages/dataset/landmark_list.hpp"
#include "stages/dataset/split_server.hpp"

namespace seam::stages {

class Landmarks final : public Source, public CategoryNames {
 public:
  static constexpr std::string_view name = "dataset.landmarks";

  void declare(Declaration& declaration) override;
  void open(Context& context) override;
  void begin(Context& context) override;
  More produce(Emitter& emitter, Context& context) override;
  [[nodiscard]] const std::vector<std::string>& category_names() const override {
    return server_.category_names();
  }

 private:
  enum class Attributes : std::uint8_t { ignore, field };

  void open_attributes(const InshopList& partition, const Context& context);

  std::filesystem::path root_;
  std::filesystem::path list_ = "Eval/list_eval_partition.txt";
  std::filesystem::path landmarks_ = "Anno/list_landmarks_inshop.txt";
  std::filesystem::path attribute_lists_ = "Anno";
  Attributes attributes_ = Attributes::ignore;
  Unlisted unlisted_ = Unlisted::refuse;
  ExpectedCounts expected_;
  std::optional<std::int64_t> expected_attributes_;
  SplitServer server_;
  // Of the split's images.
  std::vector<LandmarksOfImage> of_image_;
  std::vector<std::string> items_;
  ItemAttributes of_item_;
};

}  // namespace seam::stages
