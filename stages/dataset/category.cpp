#include "stages/dataset/category.hpp"

#include <algorithm>
#include <seam/box.hpp>
#include <unordered_map>

#include "stages/counted.hpp"

namespace seam::stages {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> split_names{"train", "val", "test"};
constexpr std::array<std::int64_t, 3> official_images{209'222, 40'000, 40'000};
constexpr std::int64_t official_categories = 46;
constexpr const char* official_partition = "Eval/list_eval_partition.txt";

std::vector<std::string> vocabulary_of(const ListText& list) {
  std::vector<std::string> names;
  for (const ListRow& row : parse_counted_list(list, {"category_name", "category_type"})) {
    if (!whole_number(row.columns[1], 1, 3)) {
      row.fail("category type " + in_quotes(row.columns[1]) +
               " is not 1 (upper body), 2 (lower body) or 3 (full body)");
    }
    if (std::find(names.begin(), names.end(), row.columns[0]) != names.end()) {
      row.fail("category " + in_quotes(row.columns[0]) + " is listed a second time");
    }
    names.emplace_back(row.columns[0]);
  }
  if (names.empty()) fail_at(list.name, 1, "no category is listed");
  return names;
}

/// The folder of an image; throws if the path leaves the data set's root.
std::string folder_of(const ListRow& row) {
  const std::string_view path = row.columns[0];
  if (!stays_below_root(path)) {
    row.fail("image name " + in_quotes(path) +
             " must be relative to the data set's root, without empty, '.' or '..' folders");
  }
  const std::size_t end = path.rfind('/');
  if (end == std::string_view::npos) {
    row.fail("image name " + in_quotes(path) + " has no folder, which is the name of its item");
  }
  const std::string_view folder = path.substr(0, end);
  return std::string(folder.substr(folder.rfind('/') + 1));  // npos + 1 is 0
}

/// Finds the images of a list for the rows of another one, by name, each once.
class Join {
 public:
  Join(const ListText& images, const std::vector<ListRow>& rows) : images_(images) {
    ListedLines lines;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      note_once(lines, rows[i], rows[i].columns[0], "image");
      places_.emplace(rows[i].columns[0], i);
    }
  }

  /// For each row of `rows`, the index of the row with its image in the first list.
  [[nodiscard]] std::vector<std::size_t> places_of(const ListText& list,
                                                   const std::vector<ListRow>& rows) const {
    ListedLines lines;
    std::vector<std::size_t> places;
    places.reserve(rows.size());
    for (const ListRow& row : rows) {
      const auto known = places_.find(row.columns[0]);
      if (known == places_.end()) {
        row.fail("image " + in_quotes(row.columns[0]) + " is not in '" + images_.name +
                 "'; the lists are of different releases");
      }
      note_once(lines, row, row.columns[0], "image");
      places.push_back(known->second);
    }
    if (rows.size() == places_.size()) return places;
    const auto missing = std::find_if(places_.begin(), places_.end(), [&](const auto& image) {
      return !lines.contains(image.first);
    });
    throw Error(list.name + ": " + counted(rows.size(), "image") + ", but '" + images_.name +
                "' lists " + grouped(static_cast<std::int64_t>(places_.size())) +
                (missing == places_.end() ? std::string()
                                          : "; " + in_quotes(missing->first) + " is missing"));
  }

 private:
  const ListText& images_;
  std::unordered_map<std::string_view, std::size_t> places_;
};

void take_splits(const ListText& list, const Join& join, CategoryList& result) {
  const std::vector<ListRow> rows = parse_counted_list(list, {"image_name", "evaluation_status"});
  const std::vector<std::size_t> places = join.places_of(list, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto* const known = std::find(split_names.begin(), split_names.end(), rows[i].columns[1]);
    if (known == split_names.end()) {
      rows[i].fail("unknown status " + in_quotes(rows[i].columns[1]) +
                   "; accepted are 'train', 'val' and 'test'");
    }
    const auto split = static_cast<std::size_t>(known - split_names.begin());
    result.rows[places[i]].split = static_cast<CategorySplit>(split);
    ++result.images[split];
  }
}

void take_boxes(const ListText& list, const Join& join, CategoryList& result) {
  const std::vector<ListRow> rows =
      parse_counted_list(list, {"image_name", "x_1", "y_1", "x_2", "y_2"});
  const std::vector<std::size_t> places = join.places_of(list, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::array<float, 4>& box = result.rows[places[i]].box;
    for (std::size_t side = 0; side < box.size(); ++side) {
      constexpr std::int64_t most = 1 << 24;  // whole numbers that a float holds
      const std::string_view position = rows[i].columns[side + 1];
      const std::optional<std::int64_t> number = whole_number(position, 0, most);
      if (!number) rows[i].fail(in_quotes(position) + " is not a pixel position");
      box[side] = static_cast<float>(*number);
    }
    if (box[2] > box[0] && box[3] > box[1]) continue;
    rows[i].fail("the box has no pixels: x_2 must be larger than x_1, and y_2 larger than y_1");
  }
}

/// Removes the categories without images.
void leave_out_unused(CategoryList& result) {
  std::vector<std::int64_t> number(result.categories.size(), -1);
  for (const CategoryRow& row : result.rows) number[static_cast<std::size_t>(row.category)] = 0;
  std::vector<std::string> used;
  for (std::size_t i = 0; i < number.size(); ++i) {
    if (number[i] < 0) continue;
    number[i] = static_cast<std::int64_t>(used.size());
    used.push_back(std::move(result.categories[i]));
  }
  for (CategoryRow& row : result.rows) {
    row.category = number[static_cast<std::size_t>(row.category)];
  }
  result.categories = std::move(used);
}

}  // namespace

CategoryList join_category_lists(const CategoryLists& lists, CategoryNumbers numbers) {
  CategoryList result;
  result.categories = vocabulary_of(lists.categories);
  const auto known = static_cast<std::int64_t>(result.categories.size());
  const std::vector<ListRow> rows =
      parse_counted_list(lists.images, {"image_name", "category_label"});
  result.rows.reserve(rows.size());
  for (const ListRow& row : rows) {
    const std::optional<std::int64_t> label = whole_number(row.columns[1], 1, known);
    if (!label) {
      row.fail("category label " + in_quotes(row.columns[1]) + " is not one of 1 to " +
               std::to_string(known) + ", the categories of '" + lists.categories.name + "'");
    }
    result.rows.push_back({.path = std::string(row.columns[0]),
                           .item = folder_of(row),
                           .category = *label - 1,
                           .split = CategorySplit::train,
                           .box = {},
                           .line = row.line});
  }
  const Join join(lists.images, rows);
  take_splits(lists.partition, join, result);
  if (lists.boxes) take_boxes(*lists.boxes, join, result);
  if (numbers == CategoryNumbers::used) leave_out_unused(result);
  return result;
}

void Category::declare(Declaration& d) {
  d.doc(
      "Serves one split of DeepFashion's Category and Attribute Prediction Benchmark, one image "
      "per packet.\n\nAll lists are read and checked before the first image is served: counts, "
      "categories, statuses and boxes, and that all lists cover the same images.");
  d.parameter("root", root_, "the folder that the lists' image names are relative to, with 'img'")
      .required()
      .folder_with({"img"});
  d.parameter("annotations", annotations_,
              "the folder of list_category_cloth.txt, list_category_img.txt and list_bbox.txt, "
              "relative to root")
      .must_exist("root");
  d.parameter("partition", partition_, "the partition list, relative to root").must_exist("root");
  d.parameter("split", split_, "which part of the list to serve",
              {{"train", CategorySplit::train},
               {"val", CategorySplit::validation},
               {"test", CategorySplit::test}});
  d.parameter("categories", numbers_,
              "used: number only the categories that occur in some split (46 in the official "
              "lists); all: number every listed category (50)",
              {{"used", CategoryNumbers::used}, {"all", CategoryNumbers::all}});
  d.parameter("boxes", boxes_,
              "field: provide the item's bounding box as the field 'box', which image.crop with "
              "box = true cuts out; ignore: use whole images",
              {{"ignore", Boxes::ignore}, {"field", Boxes::field}});
  const std::array<const char*, 3> official{"209222", "40000", "40000"};
  for (std::size_t split = 0; split < split_names.size(); ++split) {
    d.parameter("expect_" + std::string(split_names[split]), expected_[split],
                "number of " + std::string(split_names[split]) +
                    " images that the lists must have (" + official[split] +
                    " in the official ones)")
        .at_least(0)
        .same_results();
  }
  d.parameter("expect_categories", expected_categories_,
              "number of categories that must be numbered (46 used ones in the official lists)")
      .at_least(1)
      .same_results();
  declare_rows(d, {.item = "the image's folder",
                   .category = "from 0, in the order of list_category_cloth.txt",
                   .index = "position in the split, from 0, before folds cut it"});
  if (boxes_ == Boxes::field) {
    d.provides(field::box)
        .doc("left, top, right and bottom in pixels of the image in the file")
        .values({"not cut out"});
  }
  d.offers<PublishedLists>(*this);
}

CategoryList Category::read() const {
  const fs::path folder = root_ / annotations_;
  require_folder(folder,
                 " with list_category_img.txt and list_category_cloth.txt; set 'annotations' to "
                 "the folder that has them, relative to root");
  CategoryLists lists{
      .images = read_list_text(folder / "list_category_img.txt", "a list of images and categories"),
      .categories = read_list_text(folder / "list_category_cloth.txt", "a list of categories"),
      .partition = read_list_text(root_ / partition_,
                                  "a list of images and the statuses train, val and test"),
      .boxes = {}};
  if (boxes_ == Boxes::field) {
    lists.boxes = read_list_text(folder / "list_bbox.txt", "a list of images and their boxes");
  }
  return join_category_lists(lists, numbers_);
}

void Category::check(const CategoryList& list) const {
  for (std::size_t split = 0; split < expected_.size(); ++split) {
    if (!expected_[split] || *expected_[split] == list.images[split]) continue;
    refuse_count("'" + (root_ / partition_).string() + "': " + grouped(list.images[split]) + " " +
                     std::string(split_names[split]) + " images",
                 grouped(*expected_[split]));
  }
  const auto categories = static_cast<std::int64_t>(list.categories.size());
  if (!expected_categories_ || *expected_categories_ == categories) return;
  refuse_count(
      "'" + (root_ / annotations_).string() + "': " + counted(categories, "category", "categories"),
      grouped(*expected_categories_));
}

/// Difference from the test split of the official lists, which published results are for. The
/// images of that split cannot be verified, so a list in a different place counts as different.
std::string Category::difference_of(const CategoryList& list) const {
  std::string text;
  for (std::size_t split = 0; split < split_names.size(); ++split) {
    if (list.images[split] == official_images[split]) continue;
    add_clause(text, counted(list.images[split], std::string(split_names[split]) + " image") +
                         " instead of the official " + grouped(official_images[split]));
  }
  const auto categories = static_cast<std::int64_t>(list.categories.size());
  if (categories != official_categories) {
    add_clause(text, counted(categories, "category", "categories") + " instead of the official " +
                         grouped(official_categories));
  }
  if (partition_ != fs::path(official_partition)) {
    add_clause(text, "the partition '" + partition_.string() + "'");
  }
  const auto split = static_cast<std::size_t>(split_);
  if (split_ != CategorySplit::test)
    add_clause(text, "images of the " + std::string(split_names[split]) + " split");
  if (served() != list.images[split]) {
    add_clause(text, grouped(served()) + " of " +
                         counted(list.images[split], std::string(split_names[split]) + " image"));
  }
  return text;
}

void Category::open(Context& context) {
  require_folder(root_, " with the data set; set 'root' to the folder that holds 'img'");
  CategoryList list = read();
  check(list);
  const auto split = static_cast<std::size_t>(split_);
  const std::string images = std::string(split_names[split]) + " images";
  std::vector<PictureRow> rows;
  box_of_row_.clear();
  std::string boxes;
  for (CategoryRow& row : list.rows) {
    if (row.split != split_) continue;
    rows.push_back({root_ / row.path, row.path, std::move(row.item), row.category,
                    static_cast<std::int64_t>(rows.size()), row.line});
    box_of_row_.push_back(row.box);
    if (boxes_ == Boxes::ignore) continue;
    for (const float side : row.box) boxes += std::to_string(side) + " ";
  }
  const std::string name_of_list = (root_ / annotations_ / "list_category_img.txt").string();
  if (rows.empty()) throw Error("'" + (root_ / partition_).string() + "' has no " + images);
  require_first(rows, images);
  context.info("train " + counted(list.images[0], "image") + ", val " +
               counted(list.images[1], "image") + ", test " + counted(list.images[2], "image") +
               "; " + counted(list.categories.size(), "category", "categories"));
  serve(std::move(rows), list.categories, name_of_list, context, images);
  also_lists(boxes);
  difference_ = difference_of(list);
}

void Category::add_fields(Packet& packet, std::size_t row) const {
  if (boxes_ == Boxes::field) packet.set(field::box, box_of_row_[row]);
}

}  // namespace seam::stages
