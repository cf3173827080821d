/// The source `dataset.inshop`: images of DeepFashion's In-Shop benchmark, or of any data set in
/// its layout, one split at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <seam/category_names.hpp>
#include <seam/stage.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "stages/dataset/split_server.hpp"

namespace seam::stages {

class Inshop final : public Source, public CategoryNames {
 public:
  static constexpr std::string_view name = "dataset.inshop";

  void declare(Declaration& declaration) override;
  void open(Context& context) override;
  void begin(Context& context) override;
  More produce(Emitter& emitter, Context& context) override;
  [[nodiscard]] const std::vector<std::string>& category_names() const override {
    return server_.category_names();
  }

 private:
  std::filesystem::path root_;
  std::filesystem::path list_ = "Eval/list_eval_partition.txt";
  ExpectedCounts expected_;
  SplitServer server_;
};

}  // namespace seam::stages
