#include "stages/dataset/sop.hpp"

#include <algorithm>
#include <limits>
#include <system_error>
#include <unordered_map>

#include "stages/counted.hpp"

namespace seam::stages {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> names{"image_id", "class_id", "super_class_id", "path"};
constexpr std::int64_t most_categories = 4096;

std::int64_t id(const ListRow& row, std::size_t column) {
  const std::int64_t most =
      column == 2 ? most_categories : std::numeric_limits<std::int64_t>::max();
  if (const auto number = whole_number(row.columns[column], 1, most)) return *number;
  row.fail(std::string(names[column]) + " is " + in_quotes(row.columns[column]) +
           ", but must be a whole number from 1" +
           (column == 2 ? " to " + std::to_string(most_categories) : std::string()));
}

SopRow parse_row(const ListRow& row) {
  if (row.columns.size() != names.size()) {
    row.fail(counted(row.columns.size(), "column") +
             " instead of 4: image_id class_id super_class_id path");
  }
  SopRow parsed{std::string(row.columns[3]), id(row, 0), id(row, 1), id(row, 2) - 1, row.line};
  if (!stays_below_root(parsed.path)) {
    row.fail("path " + in_quotes(parsed.path) +
             " must be relative to the data set's root, without empty, '.' or '..' folders");
  }
  return parsed;
}

std::vector<SopRow> parse_rows(const ListText& list) {
  ListReader lines(list);
  const ListRow& row = lines.row();
  if (lines.next() && !std::ranges::equal(row.columns, names)) {
    row.fail("the first line must hold the column names 'image_id class_id super_class_id path'");
  }
  std::vector<SopRow> rows;
  while (lines.next_row()) rows.push_back(parse_row(row));
  if (rows.empty()) row.fail("the list has no images");
  return rows;
}

/// The location of a row, for messages about a duplicate of it.
struct Place {
  const ListText* list;
  const SopRow* row;

  [[nodiscard]] std::string text() const { return list->name + ":" + std::to_string(row->line); }
};

class SopJoin {
 public:
  void add(const ListText& list, const std::vector<SopRow>& rows) {
    for (const SopRow& row : rows) {
      const Place place{&list, &row};
      const auto once = [&](const Place& twin, const std::string& what) {
        fail_at(list.name, row.line, what + " is listed a second time; first in " + twin.text());
      };
      const auto [image, new_image] = of_image_.try_emplace(row.image, place);
      if (!new_image) once(image->second, "image_id " + std::to_string(row.image));
      const auto [path, new_path] = of_path_.try_emplace(row.path, place);
      if (!new_path) once(path->second, "image " + in_quotes(row.path));
      const auto [item, new_item] = of_item_.try_emplace(row.item, place);
      if (item->second.list != &list) {
        fail_at(list.name, row.line,
                "class " + std::to_string(row.item) + " is in " + item->second.text() +
                    " too; a model must not be evaluated on classes it was trained on");
      }
    }
  }

  /// The number of rows of `info` that are not in the lists; throws if a row contradicts them.
  [[nodiscard]] std::int64_t unknown(const ListText& info, const std::vector<SopRow>& rows) const {
    std::int64_t unknown = 0;
    for (const SopRow& row : rows) {
      const auto known = of_image_.find(row.image);
      if (known == of_image_.end()) {
        ++unknown;
        continue;
      }
      const SopRow& other = *known->second.row;
      if (row.item == other.item && row.category == other.category && row.path == other.path) {
        continue;
      }
      fail_at(info.name, row.line,
              "image_id " + std::to_string(row.image) +
                  " has a different class, super-class or path than in " + known->second.text() +
                  "; the lists are of different releases");
    }
    return unknown;
  }

  [[nodiscard]] std::int64_t images() const { return static_cast<std::int64_t>(of_image_.size()); }

 private:
  std::unordered_map<std::int64_t, Place> of_image_;
  std::unordered_map<std::string_view, Place> of_path_;
  std::unordered_map<std::int64_t, Place> of_item_;  // its first row
};

/// "bicycle" of "bicycle_final/111085122871_0.JPG"; empty for an image without a folder.
std::string_view name_in(std::string_view path) {
  constexpr std::string_view ending = "_final";
  const std::size_t end = path.find('/');
  if (end == std::string_view::npos) return {};
  std::string_view folder = path.substr(0, end);
  if (folder.size() > ending.size() && folder.ends_with(ending)) {
    folder.remove_suffix(ending.size());
  }
  return folder;
}

std::vector<std::string> names_of_categories(const SopLists& lists) {
  std::map<std::int64_t, std::string_view> found;  // empty if there are several
  for (const std::vector<SopRow>& rows : lists.rows) {
    for (const SopRow& row : rows) {
      const std::string_view name = name_in(row.path);
      const auto [known, fresh] = found.try_emplace(row.category, name);
      if (known->second != name) known->second = {};
    }
  }
  std::vector<std::string> categories;
  for (std::int64_t number = 0; number <= found.rbegin()->first; ++number) {
    const auto known = found.find(number);
    const bool named = known != found.end() && !known->second.empty();
    categories.push_back(named ? std::string(known->second)
                               : "super-class " + std::to_string(number + 1));
  }
  return categories;
}

constexpr std::array<const char*, 2> sop_splits{"train", "test"};

std::string counts_text(const SopCounts& counts) {
  return counted(counts.images, "image") + " of " + counted(counts.items, "class", "classes");
}

}  // namespace

SopLists join_sop_lists(const ListText& train, const ListText& test,
                        const std::optional<ListText>& info) {
  SopLists lists;
  lists.rows = {parse_rows(train), parse_rows(test)};
  SopJoin join;
  join.add(train, lists.rows[0]);
  join.add(test, lists.rows[1]);
  for (std::size_t split = 0; split < lists.rows.size(); ++split) {
    std::unordered_map<std::int64_t, std::int64_t> images_of_item;
    for (const SopRow& row : lists.rows[split]) ++images_of_item[row.item];
    lists.counts[split] = {static_cast<std::int64_t>(lists.rows[split].size()),
                           static_cast<std::int64_t>(images_of_item.size())};
    if (static_cast<SopSplit>(split) != SopSplit::test) continue;
    lists.lone_test_images = std::count_if(images_of_item.begin(), images_of_item.end(),
                                           [](const auto& item) { return item.second == 1; });
  }
  lists.categories = names_of_categories(lists);
  if (!info) return lists;
  SopJoin of_info;  // only to find duplicates
  const std::vector<SopRow> rows = parse_rows(*info);
  of_info.add(*info, rows);
  lists.only_in_info = join.unknown(*info, rows);
  lists.not_in_info = join.images() - (of_info.images() - lists.only_in_info);
  return lists;
}

void Sop::declare(Declaration& d) {
  d.doc(
      "Serves one split of Stanford Online Products, one image per packet.\n\nThe whole lists are "
      "checked before the first image is served: their columns and ids, and that no class is in "
      "both splits. If their counts differ from the published ones, the run continues, and reports "
      "mark its results as not comparable.");
  d.parameter("root", root_, "the folder that holds Ebay_train.txt, Ebay_test.txt and the images")
      .required()
      .folder_with({"Ebay_train.txt", "Ebay_test.txt"});
  d.parameter("split", split_, "which of the lists to serve",
              {{"train", SopSplit::train}, {"test", SopSplit::test}});
  declare_rows(d, {.item = "the class_id of the list",
                   .category = "the super_class_id of the list, counted from 0",
                   .index = "position in the split, from 0, before folds cut it"});
  d.offers<PublishedLists>(*this);
}

SopLists Sop::read() const {
  require_folder(root_, " with the data set; set 'root' to the folder that holds Ebay_train.txt");
  const std::string what = "a list of image_id, class_id, super_class_id and path";
  const fs::path info = root_ / "Ebay_info.txt";
  std::error_code fault;
  return join_sop_lists(
      read_list_text(root_ / "Ebay_train.txt", what), read_list_text(root_ / "Ebay_test.txt", what),
      fs::exists(info, fault) ? std::optional(read_list_text(info, what)) : std::nullopt);
}

std::string Sop::difference_of(const SopLists& lists) const {
  std::string text;
  for (std::size_t split = 0; split < sop_splits.size(); ++split) {
    const SopCounts published = published_sop_counts()[split];
    if (lists.counts[split] == published) continue;
    add_clause(text, std::string("the ") + sop_splits[split] + " list has " +
                         counts_text(lists.counts[split]) + " instead of the published " +
                         counts_text(published));
  }
  if (split_ != SopSplit::test) add_clause(text, "images of the train list");
  const std::int64_t all = lists.counts[static_cast<std::size_t>(split_)].images;
  if (served() != all) {
    add_clause(text, grouped(served()) + " of " + counted(all, "image") + " of the list");
  }
  return text;
}

void Sop::open(Context& context) {
  const SopLists lists = read();
  const auto split = static_cast<std::size_t>(split_);
  const std::string images = std::string(sop_splits[split]) + " images";
  const fs::path list = root_ / (std::string("Ebay_") + sop_splits[split] + ".txt");
  std::vector<PictureRow> rows;
  rows.reserve(lists.rows[split].size());
  for (const SopRow& row : lists.rows[split]) {
    rows.push_back({root_ / row.path, row.path, std::to_string(row.item), row.category,
                    static_cast<std::int64_t>(rows.size()), row.line});
  }
  require_first(rows, images);
  for (std::size_t each = 0; each < sop_splits.size(); ++each) {
    context.info(std::string(sop_splits[each]) + " " + counts_text(lists.counts[each]));
    const SopCounts published = published_sop_counts()[each];
    if (lists.counts[each] == published) continue;
    context.warn(std::string("the ") + sop_splits[each] + " list is not the published one, of " +
                 counts_text(published) + ": results are not comparable with published ones");
  }
  if (lists.not_in_info > 0 || lists.only_in_info > 0) {
    context.warn(
        "Ebay_info.txt does not list the same images as Ebay_train.txt and Ebay_test.txt: it "
        "lacks " +
        grouped(lists.not_in_info) + " of them and has " + grouped(lists.only_in_info) + " others");
  }
  if (split_ == SopSplit::test && lists.lone_test_images > 0) {
    context.warn(counted(lists.lone_test_images, "test image") +
                 (lists.lone_test_images == 1 ? " has" : " have") +
                 " no other image of the same class, so no model can find one");
  }
  serve(std::move(rows), lists.categories, list.string(), context, images);
  difference_ = difference_of(lists);
}

}  // namespace seam::stages
