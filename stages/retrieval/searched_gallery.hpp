/// Information of a search about its gallery and queries that a metric needs to count hits.
///
///     retrieval.search ── rankings, searched_gallery ──► retrieval.recall
#pragma once

#include <seam/field.hpp>
#include <set>

namespace seam::stages {

/// The gallery images of a query's category, without itself if it is left out.
struct SearchedCategory {
  std::int64_t images = 0;
  std::int64_t relevant = 0;  ///< number of those that show the query's item

  friend bool operator==(const SearchedCategory&, const SearchedCategory&) = default;
};

struct SearchedGallery {
  /// [N] the number of gallery images that each query could find if no label narrows the search:
  /// all, or, in leave-one-out, all except itself if it is one of them.
  std::vector<std::int64_t> images;
  /// As PublishedLists::difference(), of the data sets that filled the gallery.
  std::string data_difference;
  /// Describes an image of the gallery or of these queries that has no item; empty if each has one.
  std::string without_item;
  /// Describes a query that is in the gallery and may find itself; empty if there is none.
  std::string finds_itself;
  /// Names a query that may be in the gallery, if it or the gallery does not know all files, and
  /// what to do; empty if there is none.
  std::string uncompared;
  std::set<std::string> lists;  ///< the gallery's list files
  /// [N] the images that each query could find if its true category narrows the search; empty if no
  /// mask does that, or if the gallery does not know its categories.
  std::vector<SearchedCategory> own_category;

  friend bool operator==(const SearchedGallery&, const SearchedGallery&) = default;
};

}  // namespace seam::stages

namespace seam::field {

inline constexpr Field<stages::SearchedGallery> searched_gallery{"searched_gallery"};

}  // namespace seam::field
