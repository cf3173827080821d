/// The stage that finds each query's nearest gallery images, exactly.
///
///     embedding, items ──► [ retrieval.search ] ──► rankings
///                                 │ index
///                          retrieval.index
#pragma once

#include <seam/gallery.hpp>
#include <unordered_map>

#include "stages/retrieval/gallery_items.hpp"
#include "stages/retrieval/searched_gallery.hpp"

namespace seam::stages {

class Search final : public Compute<Transform> {
 public:
  static constexpr std::string_view name = "retrieval.search";

  void declare(Declaration& d) override;
  void open(Context& context) override;
  void begin(Context& context) override;
  void process(Packet& packet, Context& context) override;
  void end(Context& context) override;

 private:
  [[nodiscard]] std::int64_t number_of(const std::string& item);
  [[nodiscard]] std::int64_t row_that_shows(std::int64_t id, const Origin& origin,
                                            const std::string& file, std::int64_t left_out) const;
  // `left_out`: [N] the row of the query's own image, which it must not find, or -1.
  [[nodiscard]] std::string finding_itself(const Packet& query,
                                           const std::vector<std::int64_t>& left_out) const;
  [[nodiscard]] std::string uncompared(const Packet& query,
                                       const std::vector<std::int64_t>& left_out) const;
  [[nodiscard]] SearchedGallery searched_by(const Packet& query,
                                            const std::vector<std::int64_t>& left_out) const;
  [[nodiscard]] std::vector<SearchedCategory> categories_of(
      const Packet& query, const std::vector<std::int64_t>& left_out) const;
  [[nodiscard]] retrieval::Ranking ranking_under(retrieval::Mask mask, const Packet& query,
                                                 const std::vector<std::int64_t>& items,
                                                 const std::vector<std::int64_t>& left_out) const;

  Ref<retrieval::Gallery> gallery_;
  std::vector<retrieval::Mask> masks_{retrieval::Mask::none};
  std::int64_t k_ = 50;
  bool exclude_self_ = false;
  // Of this flow.
  GalleryItems items_;
  const retrieval::GalleryImages* images_ = nullptr;  // of gallery_, if it knows them
  std::optional<CategoryCounts> of_category_;         // only if a mask reads labels
  std::int64_t trainings_since_gallery_ = 0;
  std::set<std::string> lists_;  ///< of the gallery
  std::set<std::string> names_;  ///< of its images
  std::string without_item_;     ///< a gallery image, as in SearchedGallery
  std::string without_file_;     ///< why files cannot be compared, and what to do; or empty
  std::int64_t queries_ = 0;
  std::int64_t not_in_gallery_ = 0;  ///< in leave-one-out
  std::string first_not_in_gallery_;
  bool told_of_itself_ = false;  ///< of this flow
  /// In ascending order; the names are views into the gallery.
  std::unordered_map<std::string_view, std::vector<std::int64_t>> rows_of_file_;
  std::map<std::string, std::int64_t> unknown_items_;  // numbers below -1
};

}  // namespace seam::stages
