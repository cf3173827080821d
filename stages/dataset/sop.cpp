#include "stages/dataset/sop.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <system_error>
#include <utility>

#include "stages/counted.hpp"

namespace seam::stages {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 2> split_names{"train", "test"};

std::string text_of(const SopCounts& counts) {
  return counted(counts.images, "image") + " of " + counted(counts.items, "class", "classes");
}

}  // namespace

void Sop::declare(Declaration& declaration) {
  declaration.doc(
      "Serves one split of Stanford Online Products, one image per packet.\n\nThe whole lists are "
      "checked before the first image is served: their columns and ids, and that no class is in "
      "both splits. If their counts differ from the published ones, the run continues, and reports "
      "mark its results as not comparable.");
  declaration
      .parameter("root", root_,
                 "the folder that holds Ebay_train.txt, Ebay_test.txt and the images")
      .required()
      .folder_with({"Ebay_train.txt", "Ebay_test.txt"});
  declaration.parameter("split", split_, "which of the lists to serve",
                        {{"train", SopSplit::train}, {"test", SopSplit::test}});
  rows_.declare(declaration, {.item = "the class_id of the list",
                              .category = "the super_class_id of the list, counted from 0",
                              .index = "position in the split, from 0, before folds cut it"});
  declaration.offers<CategoryNames>(*this);
  declaration.offers<PublishedLists>(*this);
}

SopLists Sop::read() const {
  std::error_code fault;
  if (!fs::is_directory(root_, fault)) {
    throw Error("no folder '" + root_.string() +
                "' with the data set; set 'root' to the folder that holds Ebay_train.txt");
  }
  const std::string what = "a list of image_id, class_id, super_class_id and path";
  const fs::path info = root_ / "Ebay_info.txt";
  return join_sop_lists(
      read_list_text(root_ / "Ebay_train.txt", what), read_list_text(root_ / "Ebay_test.txt", what),
      fs::exists(info, fault) ? std::optional(read_list_text(info, what)) : std::nullopt);
}

std::string Sop::difference_of(const SopLists& lists) const {
  std::string text;
  const auto add = [&text](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  for (std::size_t split = 0; split < split_names.size(); ++split) {
    const SopCounts published = published_sop_counts()[split];
    if (lists.counts[split] == published) continue;
    add(std::string("the ") + split_names[split] + " list has " + text_of(lists.counts[split]) +
        " instead of the published " + text_of(published));
  }
  if (split_ != SopSplit::test) add("images of the train list");
  const std::int64_t all = lists.counts[static_cast<std::size_t>(split_)].images;
  if (rows_.served() != all) {
    add(grouped(rows_.served()) + " of " + counted(all, "image") + " of the list");
  }
  return text;
}

void Sop::open(Context& context) {
  SopLists lists = read();
  const auto split = static_cast<std::size_t>(split_);
  const std::string images = std::string(split_names[split]) + " images";
  const fs::path list = root_ / (std::string("Ebay_") + split_names[split] + ".txt");
  std::vector<PictureRow> rows;
  rows.reserve(lists.rows[split].size());
  for (const SopRow& row : lists.rows[split]) {
    rows.push_back({root_ / row.path, row.path, std::to_string(row.item), row.category,
                    static_cast<std::int64_t>(rows.size()), row.line});
  }
  std::error_code fault;
  if (!fs::exists(rows.front().path, fault)) {
    throw Error("'" + rows.front().path.string() + "' is missing, the first of the " + images +
                "; unpack the images under root, so that '" + rows.front().name + "' exists");
  }
  for (std::size_t each = 0; each < split_names.size(); ++each) {
    context.info(std::string(split_names[each]) + " " + text_of(lists.counts[each]));
    const SopCounts published = published_sop_counts()[each];
    if (lists.counts[each] == published) continue;
    context.warn(std::string("the ") + split_names[each] + " list is not the published one, of " +
                 text_of(published) + ": results are not comparable with published ones");
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
  vocabulary_ = lists.categories;
  rows_.open(std::move(rows), list.string(), context, images);
  difference_ = difference_of(lists);
}

void Sop::begin(Context& /*context*/) {
  rows_.begin();
}

More Sop::produce(Emitter& emitter, Context& context) {
  return rows_.produce(emitter, context);
}

}  // namespace seam::stages
