/// Stage `table.csv`: one line per packet, for spreadsheets and scripts.
#pragma once

#include <filesystem>
#include <fstream>
#include <seam/stage.hpp>
#include <string_view>

class CsvTable final : public seam::Sink {
 public:
  static constexpr std::string_view name = "table.csv";

  void declare(seam::Declaration& d) override;
  void begin(seam::Context& context) override;
  void process(const seam::Packet& packet, seam::Context& context) override;
  void end(seam::Context& context) override;
  void close() override;

 private:
  std::filesystem::path file_ = "table.csv";
  std::string separator_ = ",";

  std::filesystem::path target_;
  std::filesystem::path part_;  // the file until the flow ends
  std::ofstream out_;
};
