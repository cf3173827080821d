/// The source `dataset.wardrobe`: the built-in data set, drawn on first use and then served like
/// any other in the In-Shop layout.
#pragma once

#include <cstdint>
#include <filesystem>
#include <seam/stage.hpp>
#include <string_view>

#include "stages/dataset/split_server.hpp"
#include "stages/dataset/wardrobe/folder.hpp"

namespace seam::stages {

class Wardrobe final : public Source {
 public:
  static constexpr std::string_view name = "dataset.wardrobe";

  void declare(Declaration& declaration) override;
  void open(Context& context) override;
  void begin(Context& context) override;
  More produce(Emitter& emitter, Context& context) override;
  void close() override;

 private:
  std::filesystem::path root_ = "data/wardrobe";
  WardrobeOptions options_;
  int threads_ = 1;
  SplitServer server_;
  WardrobeInUse in_use_;
};

}  // namespace seam::stages
