#include "stages/dataset/landmarks.hpp"

#include <cstdint>

#include "stages/counted.hpp"

namespace seam::stages {

void Landmarks::declare(Declaration& declaration) {
  declaration.doc(
      "Serves one split of DeepFashion's In-Shop benchmark, or of a data set in its layout, with "
      "the landmarks of each image and, optionally, the attributes of its item.\n\nAll lists are "
      "read and checked before the first image is served: counts, types, states and positions, and "
      "that all lists cover the same images and items.");
  declaration.parameter("root", root_, "the folder that holds 'img', 'Eval' and 'Anno'")
      .required()
      .folder_with({"img"});  // the lists may be elsewhere
  declaration.parameter("list", list_, "the partition list, relative to root").must_exist("root");
  declaration.parameter("landmarks", landmarks_, "the list of landmarks, relative to root");
  declaration.parameter(
      "attributes", attributes_,
      "field: provide the attributes of each image's item; ignore: do not read the attribute lists",
      {{"ignore", Attributes::ignore}, {"field", Attributes::field}});
  declaration.parameter("attribute_lists", attribute_lists_,
                        "the folder of list_attr_items.txt and list_attr_cloth.txt, relative to "
                        "root");
  declaration.parameter(
      "unlisted", unlisted_,
      "how to treat images and items that have landmarks or attributes, but are not in the "
      "partition list: refuse reports an error; ignore accepts a list of a part of the data set",
      {{"refuse", Unlisted::refuse}, {"ignore", Unlisted::ignore}});
  server_.declare(declaration);
  declaration.offers<CategoryNames>(*this);
  declaration.offers<PublishedLists>(server_);
  SplitServer::declare_counts(declaration, expected_);
  declaration
      .parameter("expect_attributes", expected_attributes_,
                 "number of attributes that must be listed (463 in the official list)")
      .at_least(1);
  declaration.provides(field::landmarks).doc("in pixels of the image in the file");
  declaration.provides(field::visibility);
  if (attributes_ == Attributes::field) declaration.provides(field::attributes);
}

void Landmarks::open(Context& context) {
  const bool with_attributes = attributes_ == Attributes::field;
  if (expected_attributes_ && !with_attributes) {
    throw Error(
        "`expect_attributes` has no effect without `attributes = \"field\"`; remove it, or set "
        "`attributes = \"field\"`",
        Fault::configuration);
  }
  const InshopList partition = server_.open(root_, list_, expected_, context);
  server_.tell_difference(context);
  const std::string partition_name = (root_ / list_).string();
  const ListText landmarks =
      read_list_text(root_ / landmarks_,
                     "In-Shop's list of landmarks; set 'landmarks' to it, relative to root, or use "
                     "dataset.inshop for a data set without landmarks");
  const std::vector<LandmarksOfImage> joined =
      join_landmarks(landmarks, partition, partition_name, unlisted_);
  of_image_.clear();
  items_.clear();
  for (std::size_t i = 0; i < partition.rows.size(); ++i) {
    if (partition.rows[i].split != server_.split()) continue;
    of_image_.push_back(joined[i]);
    items_.push_back(partition.rows[i].item);
  }
  of_item_ = {};
  if (with_attributes) open_attributes(partition, context);
}

void Landmarks::open_attributes(const InshopList& partition, const Context& context) {
  const std::filesystem::path folder = root_ / attribute_lists_;
  const ListText names = read_list_text(folder / "list_attr_cloth.txt",
                                        "In-Shop's list of attributes; set 'attribute_lists' to "
                                        "its folder, relative to root");
  const ListText items = read_list_text(folder / "list_attr_items.txt",
                                        "In-Shop's list of the attributes of items; set "
                                        "'attribute_lists' to its folder, relative to root");
  of_item_ = join_attributes(names, items, partition, (root_ / list_).string(), unlisted_);
  std::int64_t positive = 0;
  std::int64_t known = 0;
  for (const std::string& item : items_) {
    for (const std::uint8_t label : of_item_.of_item.at(item)) {
      positive += label == 1 ? 1 : 0;
      known += label == 2 ? 0 : 1;
    }
  }
  const double share = known == 0 ? 0 : static_cast<double>(positive) / static_cast<double>(known);
  context.info(counted(of_item_.count, "attribute") + "; of the known labels of the " +
               std::string(split_name(server_.split())) + " images, a fraction of " +
               text_of(share) + " is positive");
  const auto found = static_cast<std::int64_t>(of_item_.count);
  if (!expected_attributes_ || *expected_attributes_ == found) return;
  throw Error(
      "'" + names.name + "': " + counted(found, "attribute") + ", but " +
      grouped(*expected_attributes_) +
      " were expected; this is a different list from the one the experiment was written for");
}

void Landmarks::begin(Context& /*context*/) {
  server_.begin();
}

More Landmarks::produce(Emitter& emitter, Context& context) {
  return server_.produce(emitter, context, [this](Packet& packet, std::size_t at) {
    packet.set(field::landmarks, of_image_[at].positions);
    packet.set(field::visibility, of_image_[at].states);
    if (attributes_ == Attributes::field) {
      packet.set(field::attributes, of_item_.of_item.at(items_[at]));
    }
  });
}

}  // namespace seam::stages
