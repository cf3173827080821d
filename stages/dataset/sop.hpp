/// The source `dataset.sop`: images of Stanford Online Products, one split at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <seam/category_names.hpp>
#include <seam/stage.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "stages/dataset/picture_rows.hpp"
#include "stages/dataset/sop_list.hpp"
#include "stages/published_lists.hpp"

namespace seam::stages {

class Sop final : public Source, public CategoryNames, public PublishedLists {
 public:
  static constexpr std::string_view name = "dataset.sop";

  void declare(Declaration& declaration) override;
  void open(Context& context) override;
  void begin(Context& context) override;
  More produce(Emitter& emitter, Context& context) override;
  [[nodiscard]] const std::vector<std::string>& category_names() const override {
    return vocabulary_;
  }
  [[nodiscard]] std::string difference() const override { return difference_; }
  [[nodiscard]] std::string published_name() const override { return "sop"; }

 private:
  [[nodiscard]] SopLists read() const;
  [[nodiscard]] std::string difference_of(const SopLists& lists) const;

  std::filesystem::path root_;
  SopSplit split_ = SopSplit::train;
  std::vector<std::string> vocabulary_;
  std::string difference_;
  PictureRows rows_;
};

}  // namespace seam::stages
