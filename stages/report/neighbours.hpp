/// The stage that draws the results of a search.
///
///     rankings, origins, items ──► [ report.neighbours ] ──► pictures/NAME/epoch-0012.json
///                                         │ index                          /epoch-0012/*.jpg
///                                  retrieval.index
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <seam/category_names.hpp>
#include <seam/gallery.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "stages/export/exported_file.hpp"
#include "stages/export/same_gallery.hpp"
#include "stages/report/chosen_queries.hpp"
#include "stages/report/contact_sheet.hpp"
#include "stages/report/drawn_set.hpp"

namespace seam::stages {

class DrawnNeighbours final : public Compute<Sink> {
 public:
  static constexpr std::string_view name = "report.neighbours";

  void declare(Declaration& d) override;
  void open(Context& context) override;
  void begin(Context& context) override;
  void process(const Packet& packet, Context& context) override;
  void end(Context& context) override;

 private:
  /// Images that were drawn in this flow, by origin, and those that could not be read.
  struct Drawn {
    DrawnSet set;
    std::map<std::string, nlohmann::ordered_json> by_name;
    std::map<std::string, Image> images;  ///< those that could be read
    std::vector<SheetCell> sheet;         ///< one row per query
    std::int64_t missing = 0;
    std::string first_problem;
  };

  [[nodiscard]] AskedQuery asked(const Packet& packet, std::size_t query) const;
  [[nodiscard]] nlohmann::ordered_json draw(const Origin& origin, const std::string& item,
                                            std::int64_t category, Drawn& drawn) const;
  [[nodiscard]] nlohmann::ordered_json draw_query(const AskedQuery& query, Drawn& drawn) const;
  /// Adds the query to the sheet, unless the sheet is full; its images must have been drawn.
  void add_row(const AskedQuery& query, const std::string& group, Drawn& drawn) const;
  [[nodiscard]] std::string note() const;

  Ref<retrieval::Gallery> gallery_;
  Refs<CategoryNames> names_;
  std::int64_t k_ = 8;
  QueryChoice choice_;
  int size_ = 128;
  std::filesystem::path root_;
  std::filesystem::path folder_ = "pictures";
  OneFlow flow_;
  SameGallery same_gallery_;
  std::vector<AskedQuery> queries_;
  retrieval::Mask mask_ = retrieval::Mask::none;
  retrieval::Metric metric_ = retrieval::Metric::squared_euclidean;
  std::string method_ = "exact";
};

}  // namespace seam::stages
