#include "stages/dataset/landmarks.hpp"

#include <cmath>
#include <unordered_set>

#include "stages/counted.hpp"
#include "stages/number_in.hpp"

namespace seam::stages {
namespace {

constexpr std::size_t columns_before = 3;  // image, clothes type, variation type
constexpr std::size_t columns_each = 3;    // state, x, y

/// Which of the eight landmarks a row lists, in order.
std::span<const std::size_t> landmarks_of_type(const ListRow& row) {
  static constexpr std::array<std::size_t, 6> upper{0, 1, 2, 3, 6, 7};
  static constexpr std::array<std::size_t, 4> lower{4, 5, 6, 7};
  static constexpr std::array<std::size_t, 8> full{0, 1, 2, 3, 4, 5, 6, 7};
  const std::optional<std::int64_t> type = whole_number(row.columns[1]);
  if (type == 1) return upper;
  if (type == 2) return lower;
  if (type == 3) return full;
  row.fail("clothes type " + in_quotes(row.columns[1]) +
           " is not 1 (upper-body), 2 (lower-body) or 3 (full-body)");
}

float place(const ListRow& row, std::size_t column) {
  const std::string_view text = row.columns[column];
  const auto value = number_in<double>(text);
  constexpr double most = 1 << 24;  // whole numbers that a float holds
  if (!value || std::abs(*value) > most) {
    row.fail(in_quotes(text) + " is not a landmark position in pixels");
  }
  return static_cast<float>(*value);
}

LandmarksOfImage landmarks_of(const ListRow& row) {
  const std::span<const std::size_t> numbers = landmarks_of_type(row);
  const std::size_t expected = columns_before + columns_each * numbers.size();
  if (row.columns.size() != expected) {
    row.fail("clothes type " + std::string(row.columns[1]) + " has " +
             counted(numbers.size(), "landmark") + " of three numbers each, so " +
             std::to_string(expected) + " columns, but the row has " +
             std::to_string(row.columns.size()));
  }
  LandmarksOfImage found;
  found.states.fill(static_cast<std::int64_t>(LandmarkState::none));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t at = columns_before + columns_each * i;
    constexpr auto most = static_cast<std::int64_t>(LandmarkState::cut_off);
    const std::optional<std::int64_t> state = whole_number(row.columns[at], 0, most);
    if (!state) {
      row.fail("the visibility " + in_quotes(row.columns[at]) + " of landmark " +
               std::to_string(i + 1) + " is not 0 (visible), 1 (occluded) or 2 (cut off)");
    }
    const float x = place(row, at + 1);
    const float y = place(row, at + 2);
    found.states.at(numbers[i]) = *state;
    if (has_position(*state)) found.positions.at(numbers[i]) = {x, y};
  }
  return found;
}

[[noreturn]] void refuse_unlisted(const ListRow& row, const std::string& noun,
                                  const std::string& partition_name) {
  row.fail(noun + " " + in_quotes(row.columns[0]) + " is not in '" + partition_name +
           "'; the lists are of different releases, or the partition covers only a part of the "
           "data set: unlisted = \"ignore\" accepts that");
}

[[noreturn]] void report_missing(const std::string& entry, const ListText& list,
                                 const std::string& partition_name, std::int64_t line) {
  fail_at(partition_name, line,
          entry + " is not in '" + list.name + "'; the lists are of different releases");
}

std::vector<std::uint8_t> labels_of(const ListRow& row, std::size_t count) {
  const std::size_t found = row.columns.size() - 1;
  if (found != count) {
    row.fail(counted(found, "label") + " for " + counted(count, "attribute") + " of item " +
             in_quotes(row.columns[0]));
  }
  std::vector<std::uint8_t> labels;
  labels.reserve(count);
  for (const std::string_view text : std::span(row.columns).subspan(1)) {
    if (text != "1" && text != "-1" && text != "0") {
      row.fail("the label " + in_quotes(text) + " is not 1 (yes), -1 (no) or 0 (unknown)");
    }
    labels.push_back(text == "1" ? 1 : text == "-1" ? 0 : 2);
  }
  return labels;
}

}  // namespace

std::vector<LandmarksOfImage> join_landmarks(const ListText& landmarks, const InshopList& partition,
                                             const std::string& partition_name, Unlisted unlisted) {
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < partition.rows.size(); ++i) places[partition.rows[i].path] = i;
  std::vector<LandmarksOfImage> joined(partition.rows.size());
  std::vector<bool> found(partition.rows.size());
  ListedLines lines;
  for (const ListRow& row :
       parse_ragged_list(landmarks, {"image_name", "clothes_type", "variation_type"})) {
    note_once(lines, row, row.columns[0], "image");
    const LandmarksOfImage read = landmarks_of(row);
    const auto known = places.find(row.columns[0]);
    if (known == places.end()) {
      if (unlisted == Unlisted::refuse) refuse_unlisted(row, "image", partition_name);
      continue;
    }
    joined[known->second] = read;
    found[known->second] = true;
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i]) continue;
    report_missing("image " + in_quotes(partition.rows[i].path), landmarks, partition_name,
                   partition.rows[i].line);
  }
  return joined;
}

ItemAttributes join_attributes(const ListText& names, const ListText& items,
                               const InshopList& partition, const std::string& partition_name,
                               Unlisted unlisted) {
  std::unordered_set<std::string_view> listed;
  for (const InshopRow& row : partition.rows) listed.insert(row.item);
  ItemAttributes result;
  result.count = parse_ragged_list(names, {"attribute_name"}).size();
  if (result.count == 0) fail_at(names.name, 1, "no attribute is listed");
  ListedLines lines;
  for (const ListRow& row : parse_ragged_list(items, {"item_id", "attribute_labels"})) {
    note_once(lines, row, row.columns[0], "item");
    std::vector<std::uint8_t> labels = labels_of(row, result.count);
    if (listed.contains(row.columns[0])) {
      result.of_item.emplace(row.columns[0], std::move(labels));
    } else if (unlisted == Unlisted::refuse) {
      refuse_unlisted(row, "item", partition_name);
    }
  }
  for (const InshopRow& row : partition.rows) {
    if (result.of_item.contains(row.item)) continue;
    report_missing("item " + in_quotes(row.item), items, partition_name, row.line);
  }
  return result;
}

void Landmarks::declare(Declaration& d) {
  d.doc(
      "Serves one split of DeepFashion's In-Shop benchmark, or of a data set in its layout, with "
      "the landmarks of each image and, optionally, the attributes of its item.\n\nAll lists are "
      "read and checked before the first image is served: counts, types, states and positions, and "
      "that all lists cover the same images and items.");
  d.parameter("root", root_, "the folder that holds 'img', 'Eval' and 'Anno'")
      .required()
      .folder_with({"img"});  // the lists may be elsewhere
  d.parameter("list", list_, "the partition list, relative to root").must_exist("root");
  d.parameter("landmarks", landmarks_, "the list of landmarks, relative to root");
  d.parameter(
      "attributes", attributes_,
      "field: provide the attributes of each image's item; ignore: do not read the attribute lists",
      {{"ignore", Attributes::ignore}, {"field", Attributes::field}});
  d.parameter("attribute_lists", attribute_lists_,
              "the folder of list_attr_items.txt and list_attr_cloth.txt, relative to root");
  d.parameter(
      "unlisted", unlisted_,
      "how to treat images and items that have landmarks or attributes, but are not in the "
      "partition list: refuse reports an error; ignore accepts a list of a part of the data set",
      {{"refuse", Unlisted::refuse}, {"ignore", Unlisted::ignore}});
  declare_split(d);
  d.offers<PublishedLists>(*this);
  declare_counts(d, expected_);
  d.parameter("expect_attributes", expected_attributes_,
              "number of attributes that must be listed (463 in the official list)")
      .at_least(1)
      .same_results()
      .only_with("attributes", "field");
  d.provides(field::landmarks).doc("in pixels of the image in the file");
  d.provides(field::visibility);
  if (attributes_ == Attributes::field) d.provides(field::attributes);
}

void Landmarks::open(Context& context) {
  const bool with_attributes = attributes_ == Attributes::field;
  const InshopList partition = serve_list(root_, list_, expected_, context);
  tell_difference(context);
  const std::string partition_name = (root_ / list_).string();
  const ListText landmarks =
      read_list_text(root_ / landmarks_,
                     "In-Shop's list of landmarks; set 'landmarks' to it, relative to root, or use "
                     "dataset.inshop for a data set without landmarks");
  const std::vector<LandmarksOfImage> joined =
      join_landmarks(landmarks, partition, partition_name, unlisted_);
  also_lists(landmarks.text);
  of_image_.clear();
  items_.clear();
  for (std::size_t i = 0; i < partition.rows.size(); ++i) {
    if (partition.rows[i].split != split()) continue;
    of_image_.push_back(joined[i]);
    items_.push_back(partition.rows[i].item);
  }
  of_item_ = {};
  if (with_attributes) open_attributes(partition, context);
}

void Landmarks::open_attributes(const InshopList& partition, const Context& context) {
  const std::filesystem::path folder = root_ / attribute_lists_;
  const ListText names = read_list_text(
      folder / "list_attr_cloth.txt",
      "In-Shop's list of attributes; set 'attribute_lists' to its folder, relative to root");
  const ListText items = read_list_text(folder / "list_attr_items.txt",
                                        "In-Shop's list of the attributes of items; set "
                                        "'attribute_lists' to its folder, relative to root");
  of_item_ = join_attributes(names, items, partition, (root_ / list_).string(), unlisted_);
  also_lists(names.text + items.text);
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
               std::string(split_name(split())) + " images, a fraction of " + text_of(share) +
               " is positive");
  const auto found = static_cast<std::int64_t>(of_item_.count);
  if (!expected_attributes_ || *expected_attributes_ == found) return;
  refuse_count("'" + names.name + "': " + counted(found, "attribute"),
               grouped(*expected_attributes_));
}

void Landmarks::add_fields(Packet& packet, std::size_t row) const {
  packet.set(field::landmarks, of_image_[row].positions);
  packet.set(field::visibility, of_image_[row].states);
  if (attributes_ == Attributes::field) {
    packet.set(field::attributes, of_item_.of_item.at(items_[row]));
  }
}

}  // namespace seam::stages
