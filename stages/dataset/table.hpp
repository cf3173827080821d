/// The source `dataset.table`: images listed in a CSV file, with items, categories, splits and
/// further columns as fields.
#pragma once

#include "stages/dataset/listed_pictures.hpp"
#include "stages/dataset/table_list.hpp"

namespace seam::stages {

class Table final : public ListedPictures {
 public:
  static constexpr std::string_view name = "dataset.table";

  void declare(Declaration& d) override;
  void open(Context& context) override;

 private:
  enum class Separator : char { comma = ',', semicolon = ';', tab = '\t' };

  void add_fields(Packet& packet, std::size_t row) const override;
  void declare_fields(Declaration& d);

  std::filesystem::path table_;
  std::optional<std::filesystem::path> root_;
  Separator separator_ = Separator::comma;
  TableOptions options_;
  std::vector<std::string> texts_;
  std::vector<std::string> integers_;
  std::vector<std::string> numbers_;
  std::optional<std::int64_t> expect_;

  std::vector<TableRow> values_;  // values of each row that PictureRow does not hold
};

}  // namespace seam::stages
