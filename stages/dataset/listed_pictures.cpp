#include "stages/dataset/listed_pictures.hpp"

#include <algorithm>
#include <system_error>

namespace seam::stages {

void ListedPictures::declare_rows(Declaration& d, const PictureFieldDocs& docs) {
  d.parameter("limit", limit_, "serve only the first N images, for quick runs").at_least(1);
  folds_.declare(d);
  d.provides(field::path).doc(docs.path);
  d.provides(field::item).doc(docs.item);
  d.provides(field::category).doc(docs.category);
  d.provides(field::index).doc(docs.index);
  d.offers<ServedItems>(*this);
  d.offers<CategoryNames>(*this);
  d.offers<Listing>(*this);
}

void ListedPictures::serve(std::vector<PictureRow> rows, std::vector<std::string> categories,
                           const std::string& list, const Context& context,
                           const std::string& images) {
  rows_ = std::move(rows);
  categories_ = std::move(categories);
  own_numbers_ = categories_.empty() &&
                 std::ranges::any_of(rows_, [](const PictureRow& row) { return row.category > 0; });
  list_ = std::make_shared<const std::string>(list);
  next_ = 0;
  std::vector<std::string> items;
  items.reserve(rows_.size());
  digest_ = rows_.size();
  for (const PictureRow& row : rows_) {
    items.push_back(row.item);
    digest_ = stream_of(std::to_string(digest_) + " " + std::to_string(row.category) + " " +
                        row.item + " " + row.name);
  }
  served_ = folds_.chosen(items);
  if (const std::string part = folds_.text(); !part.empty()) {
    context.info("serving " + std::to_string(served_.size()) + " of " +
                 std::to_string(rows_.size()) + " " + images + ", " + part);
  }
  if (limit_ && *limit_ < served()) {
    context.warn("serving " + std::to_string(*limit_) + " of " + std::to_string(served_.size()) +
                 " " + images + ", because of 'limit'");
    served_.resize(static_cast<std::size_t>(*limit_));
  }
  items_.clear();
  served_categories_.clear();
  for (const std::size_t row : served_) {
    items_.insert(rows_[row].item);
    served_categories_.insert(rows_[row].category);
  }
}

void ListedPictures::also_lists(std::string_view text) {
  digest_ = stream_of(std::to_string(digest_) + std::string(text));
}

void ListedPictures::begin(Context& /*context*/) {
  next_ = 0;
}

More ListedPictures::produce(Emitter& emitter, Context& /*context*/) {
  if (next_ >= served_.size()) return More::no;
  const std::size_t at = next_++;
  const PictureRow& row = rows_[served_[at]];
  Packet packet(Origin{row.list ? row.list : list_, row.line, row.name});
  packet.set(field::path, row.path);
  packet.set(field::item, row.item);
  packet.set(field::category, row.category);
  packet.set(field::index, row.index);
  add_fields(packet, served_[at]);
  emitter.emit(std::move(packet));
  return next_ < served_.size() ? More::yes : More::no;
}

void require_folder(const std::filesystem::path& folder, const std::string& remedy) {
  std::error_code fault;
  if (std::filesystem::is_directory(folder, fault)) return;
  throw Error("no folder '" + folder.string() + "'" + remedy);
}

std::vector<std::filesystem::directory_entry> entries_of(const std::filesystem::path& folder) {
  std::vector<std::filesystem::directory_entry> found;
  std::error_code fault;
  std::filesystem::directory_iterator entries(folder, fault);
  for (; !fault && entries != std::filesystem::directory_iterator(); entries.increment(fault)) {
    if (!entries->path().filename().string().starts_with('.')) found.push_back(*entries);
  }
  if (fault) {
    throw Error("the folder '" + folder.string() + "' cannot be read: " + fault.message());
  }
  std::sort(found.begin(), found.end());
  return found;
}

void require_first(const std::vector<PictureRow>& rows, const std::string& images) {
  std::error_code fault;
  if (std::filesystem::exists(rows.front().path, fault)) return;
  throw Error("'" + rows.front().path.string() + "' is missing, the first of the " + images +
              "; unpack the images under root, so that '" + rows.front().name + "' exists");
}

void add_clause(std::string& text, const std::string& clause) {
  text += (text.empty() ? "" : ", ") + clause;
}

}  // namespace seam::stages
