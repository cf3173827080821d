/// The stage at the end of a search that writes the results as a table.
///
///     rankings, origins ──► [ export.neighbours ] ──► STAGE.csv
///                                  │ index
///                           retrieval.index
#pragma once

#include "stages/export/exported_file.hpp"
#include "stages/export/same_gallery.hpp"

namespace seam::stages {

class NearestNeighbours final : public Compute<Sink> {
 public:
  static constexpr std::string_view name = "export.neighbours";

  void declare(Declaration& d) override;
  void begin(Context& context) override;
  void process(const Packet& packet, Context& context) override;
  void end(Context& context) override;
  void close() override;

 private:
  void write_neighbours(const Packet& packet, std::size_t query, const retrieval::Ranking& ranking,
                        const std::string& method);

  Ref<retrieval::Gallery> gallery_;
  std::int64_t k_ = 10;
  std::filesystem::path folder_;
  OneFlow flow_;
  std::optional<ExportedFile> file_;
  std::int64_t queries_ = 0;
  SameGallery same_gallery_;
};

}  // namespace seam::stages
