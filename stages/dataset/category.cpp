#include "stages/dataset/category.hpp"

#include <seam/box.hpp>
#include <system_error>
#include <utility>

#include "stages/counted.hpp"

namespace seam::stages {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 3> split_names{"train", "val", "test"};
constexpr std::array<std::int64_t, 3> official_images{209'222, 40'000, 40'000};
constexpr std::int64_t official_categories = 46;
constexpr const char* official_partition = "Eval/list_eval_partition.txt";

}  // namespace

void Category::declare(Declaration& declaration) {
  declaration.doc(
      "Serves one split of DeepFashion's Category and Attribute Prediction Benchmark, one image "
      "per packet.\n\nAll lists are read and checked before the first image is served: counts, "
      "categories, statuses and boxes, and that all lists cover the same images.");
  declaration
      .parameter("root", root_,
                 "the folder that the lists' image names are relative to, with 'img'")
      .required()
      .folder_with({"img"});
  declaration
      .parameter("annotations", annotations_,
                 "the folder of list_category_cloth.txt, list_category_img.txt and "
                 "list_bbox.txt, relative to root")
      .must_exist("root");
  declaration.parameter("partition", partition_, "the partition list, relative to root")
      .must_exist("root");
  declaration.parameter("split", split_, "which part of the list to serve",
                        {{"train", CategorySplit::train},
                         {"val", CategorySplit::validation},
                         {"test", CategorySplit::test}});
  declaration.parameter("categories", numbers_,
                        "used: number only the categories that occur in some split (46 in the "
                        "official lists); all: number every listed category (50)",
                        {{"used", CategoryNumbers::used}, {"all", CategoryNumbers::all}});
  declaration.parameter("boxes", boxes_,
                        "field: provide the item's bounding box as the field 'box', which "
                        "image.crop with box = true cuts out; ignore: use whole images",
                        {{"ignore", Boxes::ignore}, {"field", Boxes::field}});
  const std::array<const char*, 3> official{"209222", "40000", "40000"};
  for (std::size_t split = 0; split < split_names.size(); ++split) {
    declaration
        .parameter(std::string("expect_") + split_names[split], expected_[split],
                   "number of " + std::string(split_names[split]) +
                       " images that the lists must have (" + official[split] +
                       " in the official ones)")
        .at_least(0);
  }
  declaration
      .parameter("expect_categories", expected_categories_,
                 "number of categories that must be numbered (46 used ones in the official lists)")
      .at_least(1);
  rows_.declare(declaration, {.item = "the image's folder",
                              .category = "from 0, in the order of list_category_cloth.txt",
                              .index = "position in the split, from 0, before folds cut it"});
  if (boxes_ == Boxes::field) {
    declaration.provides(field::box)
        .doc("left, top, right and bottom in pixels of the image in the file");
  }
  declaration.offers<CategoryNames>(*this);
  declaration.offers<PublishedLists>(*this);
}

CategoryList Category::read() const {
  const fs::path folder = root_ / annotations_;
  std::error_code fault;
  if (!fs::is_directory(folder, fault)) {
    throw Error("no folder '" + folder.string() +
                "' with list_category_img.txt and list_category_cloth.txt; set 'annotations' to "
                "the folder that has them, relative to root");
  }
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
    throw Error(
        "'" + (root_ / partition_).string() + "': " + grouped(list.images[split]) + " " +
        split_names[split] + " images, but " + grouped(*expected_[split]) +
        " were expected; this is a different list from the one the experiment was written for");
  }
  const auto categories = static_cast<std::int64_t>(list.categories.size());
  if (!expected_categories_ || *expected_categories_ == categories) return;
  throw Error(
      "'" + (root_ / annotations_).string() + "': " +
      counted(categories, "category", "categories") + ", but " + grouped(*expected_categories_) +
      " were expected; this is a different list from the one the experiment was written for");
}

/// Difference from the test split of the official lists, which published results are for. The
/// images of that split cannot be verified, so a list in a different place counts as different.
std::string Category::difference_of(const CategoryList& list) const {
  std::string text;
  const auto add = [&text](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  for (std::size_t split = 0; split < split_names.size(); ++split) {
    if (list.images[split] == official_images[split]) continue;
    add(counted(list.images[split], std::string(split_names[split]) + " image") +
        " instead of the official " + grouped(official_images[split]));
  }
  const auto categories = static_cast<std::int64_t>(list.categories.size());
  if (categories != official_categories) {
    add(counted(categories, "category", "categories") + " instead of the official " +
        grouped(official_categories));
  }
  if (partition_ != fs::path(official_partition)) {
    add("the partition '" + partition_.string() + "'");
  }
  const auto split = static_cast<std::size_t>(split_);
  if (split_ != CategorySplit::test)
    add(std::string("images of the ") + split_names[split] + " split");
  if (rows_.served() != list.images[split]) {
    add(grouped(rows_.served()) + " of " +
        counted(list.images[split], std::string(split_names[split]) + " image"));
  }
  return text;
}

void Category::open(Context& context) {
  std::error_code fault;
  if (!fs::is_directory(root_, fault)) {
    throw Error("no folder '" + root_.string() +
                "' with the data set; set 'root' to the folder that holds 'img'");
  }
  CategoryList list = read();
  check(list);
  const auto split = static_cast<std::size_t>(split_);
  const std::string images = std::string(split_names[split]) + " images";
  std::vector<PictureRow> rows;
  box_of_row_.clear();
  for (CategoryRow& row : list.rows) {
    if (row.split != split_) continue;
    rows.push_back({root_ / row.path, row.path, std::move(row.item), row.category,
                    static_cast<std::int64_t>(rows.size()), row.line});
    box_of_row_.push_back(row.box);
  }
  const std::string name_of_list = (root_ / annotations_ / "list_category_img.txt").string();
  if (rows.empty()) throw Error("'" + (root_ / partition_).string() + "' has no " + images);
  if (!fs::exists(rows.front().path, fault)) {
    throw Error("'" + rows.front().path.string() + "' is missing, the first of the " + images +
                "; unpack the images under root, so that '" + rows.front().name + "' exists");
  }
  context.info("train " + counted(list.images[0], "image") + ", val " +
               counted(list.images[1], "image") + ", test " + counted(list.images[2], "image") +
               "; " + counted(list.categories.size(), "category", "categories"));
  rows_.open(std::move(rows), name_of_list, context, images);
  difference_ = difference_of(list);
  vocabulary_ = std::move(list.categories);
}

void Category::begin(Context& /*context*/) {
  rows_.begin();
}

More Category::produce(Emitter& emitter, Context& context) {
  return rows_.produce(emitter, context, [this](Packet& packet, std::size_t at) {
    if (boxes_ == Boxes::field) packet.set(field::box, box_of_row_[at]);
  });
}

}  // namespace seam::stages
