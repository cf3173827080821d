/// What a search knows of its gallery and queries, and a metric must know to count hits.
///
///     retrieval.search ── rankings, searched_gallery ──► retrieval.recall
#pragma once

#include <cstdint>
#include <seam/field.hpp>
#include <set>
#include <string>
#include <vector>

namespace seam::stages {

/// The gallery images of a query's category; itself not counted where it is left out.
struct SearchedCategory {
  std::int64_t images = 0;
  std::int64_t relevant = 0;  ///< those that show the query's item

  friend bool operator==(const SearchedCategory&, const SearchedCategory&) = default;
};

struct SearchedGallery {
  /// [N] how many gallery images each query could find where no label narrows the search: all, or,
  /// in leave-one-out, all but itself where it is one of them.
  std::vector<std::int64_t> images;
  /// As PublishedLists::difference(), of the data sets that filled the gallery.
  std::string data_difference;
  /// Names a picture of the gallery or of these queries that has no item; empty where each has one.
  std::string without_item;
  /// Names a query that is in the gallery and may find itself; empty where none is.
  std::string finds_itself;
  std::set<std::string> lists;  ///< that named the gallery's pictures
  /// [N] what each query could find where its true category narrows the search; empty where nothing
  /// is searched in this way, and where the gallery does not know its categories.
  std::vector<SearchedCategory> own_category;

  friend bool operator==(const SearchedGallery&, const SearchedGallery&) = default;
};

}  // namespace seam::stages

namespace seam::field {

inline constexpr Field<stages::SearchedGallery> searched_gallery{"searched_gallery"};

}  // namespace seam::field
