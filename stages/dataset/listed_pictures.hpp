/// Base of the data sets that list image files: serves one packet per row.
///
///     rows ──► those of the fold ──► up to `limit` ──► packets
///
/// A row keeps its index whatever part is served.
#pragma once

#include <seam/category_names.hpp>
#include <seam/listing.hpp>

#include "stages/dataset/folds.hpp"
#include "stages/listed_categories.hpp"
#include "stages/served_items.hpp"

namespace seam::stages {

struct PictureRow {
  std::filesystem::path path;  ///< the file to read
  std::string name;            ///< as in the list, for messages
  std::string item;
  std::int64_t category = 0;
  std::int64_t index = 0;                             ///< rising
  std::int64_t line = 0;                              ///< of the list; 0 if it has no lines
  std::shared_ptr<const std::string> list = nullptr;  ///< null: the one given to serve()
};

/// Descriptions of the fields on a stage's page, if their names do not suffice.
struct PictureFieldDocs {
  std::string item = {};
  std::string category = {};
  std::string index = "position in the whole list, from 0";
  std::string path = "the image's file";
};

class ListedPictures : public Source,
                       public CategoryNames,
                       public Listing,
                       public ListedCategories,
                       public ServedItems {
 public:
  void begin(Context& context) final;
  More produce(Emitter& emitter, Context& context) final;
  [[nodiscard]] const std::vector<std::string>& category_names() const final { return categories_; }
  [[nodiscard]] std::uint64_t listing_digest() const final { return digest_; }
  [[nodiscard]] bool has_own_numbers() const final { return own_numbers_; }
  [[nodiscard]] const std::set<std::int64_t>& served_categories() const final {
    return served_categories_;
  }
  [[nodiscard]] const Names& served_items() const final { return items_; }

 protected:
  /// Declares `limit`, the folds' parameters, and the fields path, item, category and index;
  /// provides ServedItems, CategoryNames and Listing.
  void declare_rows(Declaration& d, const PictureFieldDocs& docs = {});
  /// Receives the rows of a split, in order, and logs which part of them is served. `list` and
  /// `images` (the noun for the rows) are for messages.
  void serve(std::vector<PictureRow> rows, std::vector<std::string> categories,
             const std::string& list, const Context& context, const std::string& images = "images");
  /// Adds a text that decides fields of packets to the digest; after serve().
  void also_lists(std::string_view text);
  /// Number of rows that are served.
  [[nodiscard]] std::int64_t served() const { return static_cast<std::int64_t>(served_.size()); }
  /// Adds fields to the packet of a row, given its position among the rows.
  virtual void add_fields(Packet& /*packet*/, std::size_t /*row*/) const {}

 private:
  Folds folds_;
  std::optional<std::int64_t> limit_;
  std::shared_ptr<const std::string> list_;
  std::vector<std::string> categories_;
  bool own_numbers_ = false;
  std::vector<PictureRow> rows_;
  std::uint64_t digest_ = 0;  // of those
  std::vector<std::size_t> served_;
  Names items_;  // of those
  std::set<std::int64_t> served_categories_;
  std::size_t next_ = 0;
};

/// Throws seam::Error if the folder does not exist: "no folder 'FOLDER'" and `remedy`.
void require_folder(const std::filesystem::path& folder, const std::string& remedy);

/// The files and folders in a folder, sorted, without hidden ones such as .DS_Store. Throws
/// seam::Error if it cannot be read.
[[nodiscard]] std::vector<std::filesystem::directory_entry> entries_of(
    const std::filesystem::path& folder);

/// Throws seam::Error if the first row's file is missing; `images` is the noun for the rows.
void require_first(const std::vector<PictureRow>& rows, const std::string& images);

/// Adds to a list of clauses.
void add_clause(std::string& text, const std::string& clause);

}  // namespace seam::stages
