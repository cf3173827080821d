/// The stage that draws the results of a search.
///
///     rankings, origins, items ──► [ report.neighbours ] ──► pictures/NAME/epoch-0012.json
///                                         │ index                          /epoch-0012/*.jpg
///                                  retrieval.index
#pragma once

#include <nlohmann/json.hpp>
#include <seam/category_names.hpp>

#include "stages/export/exported_file.hpp"
#include "stages/export/same_gallery.hpp"
#include "stages/report/contact_sheet.hpp"
#include "stages/report/drawn_set.hpp"

namespace seam::stages {

// Selects the queries that are shown to the user.
//
//     every query, its nearest images ──► best, worst, some of each category

struct FoundPicture {
  std::int64_t row = 0;  ///< in the gallery
  float distance = 0;
  bool right = false;  ///< shows the query's item

  friend bool operator==(const FoundPicture&, const FoundPicture&) = default;
};

struct AskedQuery {
  Origin origin;
  std::filesystem::path file;  ///< empty if unknown
  std::string item;
  std::int64_t category = -1;         ///< -1: unknown
  std::int64_t relevant = 0;          ///< number of gallery images of its item
  std::int64_t first_right = 0;       ///< rank of the first right image, from 1; 0: none was found
  std::vector<FoundPicture> nearest;  ///< the images to show, nearest first
};

struct QueryChoice {
  std::int64_t best = 4;
  std::int64_t worst = 4;
  std::int64_t per_category = 2;
  std::int64_t categories = 12;      ///< maximum number; those with the most queries are used
  std::vector<std::string> names{};  ///< of the categories, as far as known
};

struct QueryGroup {
  std::string title;
  std::vector<std::size_t> queries;  ///< positions among all queries

  friend bool operator==(const QueryGroup&, const QueryGroup&) = default;
};

/// Best: ordered by the lowest rank of a right image, then the most right images among those shown,
/// then the nearest first image. Worst: ordered by the highest rank of the first right image (or
/// none), then the nearest wrong image, so that confident mistakes come first. Neither has queries
/// that the gallery cannot answer, and no query is in both. Samples depend only on the random
/// numbers and on the number of queries of each category, so that every epoch shows the same
/// images.
std::vector<QueryGroup> choose_queries(std::span<const AskedQuery> queries,
                                       const QueryChoice& choice, Random random);

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
  [[nodiscard]] nlohmann::ordered_json draw(const Origin& origin, const std::filesystem::path& file,
                                            const std::string& item, std::int64_t category,
                                            Drawn& drawn) const;
  /// The file of a gallery row; empty if unknown.
  [[nodiscard]] std::filesystem::path file_of_row(std::size_t row) const;
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
  OneFlow flow_;
  SameGallery same_gallery_;
  std::vector<AskedQuery> queries_;
  retrieval::Mask mask_ = retrieval::Mask::none;
  retrieval::Metric metric_ = retrieval::Metric::squared_euclidean;
  std::string method_ = "exact";
};

}  // namespace seam::stages
