/// The source `dataset.wardrobe`: the built-in data set, drawn on first use and then served like
/// any other in the In-Shop layout.
#pragma once

#include <cstdint>
#include <filesystem>
#include <seam/category_names.hpp>
#include <seam/stage.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "stages/dataset/split_server.hpp"
#include "stages/dataset/wardrobe/folder.hpp"

namespace seam::stages {

class Wardrobe final : public Source, public CategoryNames {
 public:
  static constexpr std::string_view name = "dataset.wardrobe";

  void declare(Declaration& declaration) override;
  void open(Context& context) override;
  void begin(Context& context) override;
  More produce(Emitter& emitter, Context& context) override;
  [[nodiscard]] const std::vector<std::string>& category_names() const override {
    return server_.category_names();
  }
  void close() override;

 private:
  std::filesystem::path root_ = "data/wardrobe";
  WardrobeOptions options_;
  int threads_ = 1;
  SplitServer server_;
  WardrobeInUse in_use_;
};

}  // namespace seam::stages
