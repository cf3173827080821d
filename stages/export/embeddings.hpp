/// The stage at the end of a flow that embeds images: files for NumPy and spreadsheets.
///
///     embedding, origins, ... ──► [ export.embeddings ] ──► STAGE.npy f32 or f16[rows,E]
///                                                    └──► STAGE.csv
#pragma once

#include <seam/shard.hpp>
#include <seam/tensor.hpp>

#include "stages/export/exported_file.hpp"

namespace seam::stages {

/// The type of the numbers in a file.
enum class StoredAs : std::uint8_t { float32, float16 };

/// The header of NumPy's .npy files, format 1.0 (numpy.lib.format describes it), for
/// this many rows and columns, whose numbers follow row by row. Always 128 bytes, so that it can be
/// rewritten once the rows are counted.
///
///     \x93NUMPY 1 0  u16 length  {'descr': '<f4', 'fortran_order': False, 'shape': (3, 128), }
std::string npy_header(std::int64_t rows, std::int64_t columns, StoredAs stored);

class Embeddings final : public Compute<Sink>, public WritesParts {
 public:
  static constexpr std::string_view name = "export.embeddings";

  void declare(Declaration& d) override;
  void begin(Context& context) override;
  void process(const Packet& packet, Context& context) override;
  void end(Context& context) override;
  void close() override;
  void begin_part() override { is_part_ = true; }
  [[nodiscard]] std::vector<std::filesystem::path> part_files() const override { return written_; }

 private:
  /// The pair of files of the running flow.
  struct Files {
    ExportedFile vectors;
    ExportedFile table;
    std::int64_t rows = 0;
    std::int64_t dimensions = 0;  // known from the first batch on
  };

  std::filesystem::path folder_;
  StoredAs stored_ = StoredAs::float32;
  OneFlow flow_;
  std::optional<Files> files_;
  bool is_part_ = false;
  std::vector<std::filesystem::path> written_;
};

}  // namespace seam::stages
