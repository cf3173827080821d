/// The source `dataset.table`: images listed in a CSV file, with items, categories, splits and
/// further columns as fields.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <seam/category_names.hpp>
#include <seam/stage.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "stages/dataset/picture_rows.hpp"
#include "stages/dataset/table_list.hpp"

namespace seam::stages {

class Table final : public Source, public CategoryNames {
 public:
  static constexpr std::string_view name = "dataset.table";

  void declare(Declaration& declaration) override;
  void open(Context& context) override;
  void begin(Context& context) override;
  More produce(Emitter& emitter, Context& context) override;
  [[nodiscard]] const std::vector<std::string>& category_names() const override {
    return vocabulary_;
  }

 private:
  enum class Separator : std::uint8_t { comma, semicolon, tab };

  void declare_fields(Declaration& declaration);

  std::filesystem::path table_;
  std::optional<std::filesystem::path> root_;
  Separator separator_ = Separator::comma;
  TableOptions options_;
  std::vector<std::string> texts_;
  std::vector<std::string> integers_;
  std::vector<std::string> numbers_;
  std::optional<std::int64_t> expect_;

  std::vector<std::string> vocabulary_;
  std::vector<TableRow> values_;  // values of each row that PictureRows does not hold
  PictureRows rows_;
};

}  // namespace seam::stages
