/// The source `dataset.wardrobe`: the built-in data set, drawn on first use and then served like
/// any other in the In-Shop layout.
#pragma once

#include "stages/dataset/inshop.hpp"
#include "stages/dataset/wardrobe/folder.hpp"

namespace seam::stages {

class Wardrobe final : public InshopPictures {
 public:
  static constexpr std::string_view name = "dataset.wardrobe";

  void declare(Declaration& d) override;
  void open(Context& context) override;

 private:
  std::filesystem::path root_ = "data/wardrobe";
  WardrobeOptions options_;
  int threads_ = 1;
};

}  // namespace seam::stages
