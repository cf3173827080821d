/// The source `dataset.category`: images of DeepFashion's Category and Attribute Prediction
/// Benchmark, one split at a time.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <seam/category_names.hpp>
#include <seam/stage.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "stages/dataset/category_list.hpp"
#include "stages/dataset/picture_rows.hpp"
#include "stages/published_lists.hpp"

namespace seam::stages {

class Category final : public Source, public CategoryNames, public PublishedLists {
 public:
  static constexpr std::string_view name = "dataset.category";

  void declare(Declaration& declaration) override;
  void open(Context& context) override;
  void begin(Context& context) override;
  More produce(Emitter& emitter, Context& context) override;
  [[nodiscard]] const std::vector<std::string>& category_names() const override {
    return vocabulary_;
  }
  [[nodiscard]] std::string difference() const override { return difference_; }
  [[nodiscard]] std::string published_name() const override { return "deepfashion-category-test"; }

 private:
  enum class Boxes : std::uint8_t { ignore, field };

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

  std::vector<std::string> vocabulary_;
  std::string difference_;
  std::vector<std::array<float, 4>> box_of_row_;
  PictureRows rows_;
};

}  // namespace seam::stages
