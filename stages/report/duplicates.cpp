#include "stages/report/duplicates.hpp"

#include <algorithm>

#include "stages/counted.hpp"
#include "stages/decimals.hpp"
#include "stages/image/encode_jpeg.hpp"
#include "stages/picture_paths.hpp"
#include "stages/report/contact_sheet.hpp"
#include "stages/table_cell.hpp"

namespace seam::stages {
namespace {

using Json = nlohmann::ordered_json;

std::string likeness_text(const DuplicatePair& pair) {
  switch (pair.likeness) {
    case Likeness::same_file:
      return "same file";
    case Likeness::same_pixels:
      return "identical";
    case Likeness::near:
      break;
  }
  return "near, " + with_decimals(pair.difference);
}

/// For a table cell: the name in its list, with the line.
std::string picture_name(const Origin& origin) {
  if (origin.item.empty()) return table_cell(origin.text());
  return table_cell(origin.item) +
         (origin.line > 0 ? " (line " + std::to_string(origin.line) + ")" : "");
}

/// A frame for two images: of the same item, of different ones, or unknown.
Role frame_of(const HashedPicture& a, const HashedPicture& b) {
  if (a.item.empty() || b.item.empty()) return Role::single;
  return a.item == b.item ? Role::positive : Role::negative;
}

std::string items_text(Role frame) {
  return frame == Role::single ? "unknown" : frame == Role::positive ? "same" : "different";
}

std::string drawing_of(const HashedFlow& flow) {
  return flow.name + ".jpg";
}

/// The image read again from its file; grey if it cannot be read.
SheetCell cell_of(const HashedPicture& picture, int size, std::string text, Role frame) {
  SheetCell cell{{}, {std::move(text), picture.item}, frame};
  try {
    if (picture.file.empty()) throw Error("its data set does not provide a file");
    cell.image = read_thumbnail(picture.file, size);
  } catch (const Error& error) {
    if (error.fault() != Fault::data) throw;
    cell.image = blank();
    cell.text[1] = "cannot be read";
  }
  return cell;
}

/// A flow in a checkpoint: its name, and a list for each image.
Json packed(const HashedFlow& flow) {
  Json pictures = Json::array();
  for (const HashedPicture& picture : flow.pictures) {
    const auto& [pixels, differences, small] = picture.hash;
    const Origin& origin = picture.origin;
    pictures.push_back({pixels, differences, Json::binary({small.begin(), small.end()}),
                        origin.file ? *origin.file : std::string(), origin.line, origin.item,
                        picture.file, picture.item});
  }
  return {flow.name, std::move(pictures)};
}

HashedFlow unpacked(const Json& packed) {
  HashedFlow flow{packed.at(0).get<std::string>(), {}};
  std::shared_ptr<const std::string> list;  // shared by the images of a list
  for (const Json& values : packed.at(1)) {
    HashedPicture picture{{values.at(0), values.at(1), {}}, {}, values.at(6), values.at(7)};
    const std::vector<std::uint8_t>& small = values.at(2).get_binary();
    if (small.size() != picture.hash.small.size()) throw Error("a saved image has another size");
    std::ranges::copy(small, picture.hash.small.begin());
    const std::string file = values.at(3);
    if (file.empty()) {
      list.reset();
    } else if (!list || *list != file) {
      list = std::make_shared<const std::string>(file);
    }
    picture.origin = {list, values.at(4), values.at(5)};
    flow.pictures.push_back(std::move(picture));
  }
  return flow;
}

}  // namespace

void DuplicatePictures::declare(Declaration& d) {
  d.doc(
      "Finds images that occur in two splits of a data set. Placed at the end of one flow per "
      "split, it compares the images of a flow with those of the flows that ran before. Identical "
      "images have the same size and pixels, whatever their file names. Near duplicates have "
      "similar difference hashes (dHash, 64 bits) and similar 16x16 pixels. Reports and draws the "
      "pairs, and warns about identical ones.");
  d.only_writes();
  d.parameter("near_bits", near_bits_,
              "for near duplicates: how many of the 64 bits of the difference hashes may differ")
      .range(0, 16)
      .unit("bits");
  d.parameter("near_difference", near_difference_,
              "for near duplicates: how much the 16x16 pixels may differ, as root mean square over "
              "red, green and blue")
      .range(0, 255)
      .unit("levels of 255");
  d.parameter("within", within_,
              "whether to also compare the images of a flow with each other, as for leave-one-out "
              "evaluation, in which one list is both queries and gallery");
  d.parameter("on_identical", on_identical_,
              "how to treat identical images: a warning (report), or an error in the data with "
              "exit code 3 (refuse)",
              {{"report", OnIdentical::report}, {"refuse", OnIdentical::refuse}});
  d.parameter("rows", rows_, "number of pairs to list, nearest first").range(0, 100000);
  d.parameter("drawn", drawn_, "number of pairs to draw for `seam report`, nearest first")
      .range(0, 1000);
  d.parameter("size", size_, "longer side of the drawn images").range(16, 1024).unit("px");
  d.needs(field::image);
  d.accepts(field::path).doc("to distinguish a file in two lists from a copy, and to draw");
  d.accepts(field::item).doc("to report whether two images show the same item");
  d.keeps_state();
}

void DuplicatePictures::begin(Context& context) {
  current_ = {std::string(context.flow()), {}};
}

void DuplicatePictures::process(const Packet& packet, Context& /*context*/) {
  HashedPicture picture{hash_of(packet.get(field::image)), packet.origin(), {}, {}};
  if (packet.has(field::path)) picture.file = picture_file(packet.get(field::path));
  if (packet.has(field::item)) picture.item = packet.get(field::item);
  current_.pictures.push_back(std::move(picture));
}

void DuplicatePictures::end(Context& context) {
  if (current_.pictures.empty()) {
    throw Error("no image was received in flow '" + current_.name +
                "', so there is nothing to compare");
  }
  std::erase_if(flows_, [&](const HashedFlow& flow) { return flow.name == current_.name; });
  context.metric("pictures", static_cast<double>(current_.pictures.size()));
  const Others compared = others();
  std::string warning;
  if (compared.empty()) {
    context.info(counted(current_.pictures.size(), "image") + " of flow '" + current_.name +
                 "' are hashed; they are compared when the next flow runs");
  } else {
    const DuplicateRule rule{near_bits_, near_difference_,
                             std::max({rows_, drawn_, std::size_t{1}})};
    const Duplicates found =
        find_duplicates(current_, compared, rule, [&] { return context.stop_requested(); });
    record(found, compared, context);
    context.report("Duplicates", text_of(found, compared, context.stage()));
    if (!context.run_directory().empty()) draw(found, compared, DrawnSet("pictures", context));
    warning = summary(found, compared);
  }
  flows_.push_back(std::move(current_));
  current_ = {};
  if (!context.run_directory().empty()) list_drawings(DrawnSet("pictures", context));
  if (warning.empty()) return;
  if (on_identical_ == OnIdentical::refuse) throw Error(warning);
  context.warn(warning);
}

DuplicatePictures::Others DuplicatePictures::others() const {
  Others others;
  for (const HashedFlow& flow : flows_) others.push_back(&flow);
  if (within_) others.push_back(&current_);
  return others;
}

void DuplicatePictures::record(const Duplicates& found, const Others& others,
                               const Context& context) const {
  const auto metrics = [&](const DuplicateCount& count, const std::string& of) {
    context.metric("identical" + of, static_cast<double>(count.identical));
    context.metric("near" + of, static_cast<double>(count.near));
  };
  metrics(found.all, "");
  for (std::size_t i = 0; i < others.size(); ++i) metrics(found.by_flow[i], "." + others[i]->name);
}

std::string DuplicatePictures::summary(const Duplicates& found, const Others& others) const {
  if (found.all.identical == 0) return {};
  std::string flows;
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (found.by_flow[i].identical == 0) continue;
    flows += (flows.empty() ? "" : ", ") +
             (others[i] == &current_ ? "of this flow" : in_quotes(others[i]->name)) + " (" +
             grouped(found.by_flow[i].identical) + ")";
  }
  const DuplicatePair& first = found.pairs.front();
  return grouped(found.all.identical) + " of " + counted(current_.pictures.size(), "image") +
         " of flow '" + current_.name + "' have the same pixels as others, " + flows +
         "; the first: " + current_.pictures[first.row].origin.text() + " and " +
         others[first.flow]->pictures[first.other].origin.text() +
         "; keep each image in one list only";
}

std::string DuplicatePictures::text_of(const Duplicates& found, const Others& others,
                                       std::string_view stage) const {
  std::string text =
      counted(current_.pictures.size(), "image") + " of flow `" + current_.name +
      "`, as they reach `" + std::string(stage) +
      "`, and how many of them have an identical image (the same size and pixels) in the flows "
      "before it, or else a near duplicate (at most " +
      counted(std::int64_t{near_bits_}, "bit") + " of 64 of the difference hash and " +
      seam::stages::text_of(near_difference_) + " of 255 levels of 16x16 pixels differ).\n\n" +
      "| compared with | its images | identical | near | identical pairs | near pairs "
      "|\n|---|---|---|---|---|---|\n";
  const auto row = [&](const std::string& with, const DuplicateCount& count) {
    text += "| " + with + " |";
    for (const std::int64_t number : {count.compared_with, count.identical, count.near,
                                      count.identical_pairs, count.near_pairs}) {
      text += " " + grouped(number) + " |";
    }
    text += "\n";
  };
  for (std::size_t i = 0; i < others.size(); ++i) {
    row(others[i] == &current_ ? "each other" : "`" + others[i]->name + "`", found.by_flow[i]);
  }
  if (others.size() > 1) row("all", found.all);
  const auto listed = static_cast<std::int64_t>(std::min(rows_, found.pairs.size()));
  if (listed == 0) return text;
  const std::int64_t all = found.all.identical_pairs + found.all.near_pairs;
  text += "\n" + (listed < all ? "The nearest " + grouped(listed) + " of " : "") +
          counted(all, "pair") +
          ", with the levels by which they differ:\n\n| | image | flow | other image | items |\n" +
          "|---|---|---|---|---|\n";
  for (std::int64_t i = 0; i < listed; ++i) {
    const DuplicatePair& pair = found.pairs[i];
    const HashedPicture& picture = current_.pictures[pair.row];
    const HashedPicture& other = others[pair.flow]->pictures[pair.other];
    text += "| " + likeness_text(pair) + " | " + picture_name(picture.origin) + " | `" +
            others[pair.flow]->name + "` | " + picture_name(other.origin) + " | " +
            items_text(frame_of(picture, other)) + " |\n";
  }
  return text;
}

void DuplicatePictures::draw(const Duplicates& found, const Others& others,
                             const DrawnSet& set) const {
  constexpr std::size_t most_columns = 8;
  std::vector<SheetCell> cells;
  std::vector<std::int64_t> pairs;  // of the cells, for keeping each in one row
  for (std::size_t i = 0; i < std::min(drawn_, found.pairs.size()); ++i) {
    const DuplicatePair& pair = found.pairs[i];
    const HashedPicture& picture = current_.pictures[pair.row];
    const HashedPicture& other = others[pair.flow]->pictures[pair.other];
    if (picture.file.empty() && other.file.empty()) continue;
    const Role frame = frame_of(picture, other);
    cells.push_back(cell_of(picture, size_, likeness_text(pair), frame));
    cells.push_back(cell_of(other, size_, others[pair.flow]->name, frame));
    pairs.insert(pairs.end(), 2, static_cast<std::int64_t>(i));
  }
  if (cells.empty()) return;
  const Image sheet = contact_sheet(cells, sheet_columns(pairs, most_columns), size_);
  static_cast<void>(set.write_picture(drawing_of(current_), encode_jpeg(sheet)));
}

/// Includes the drawings of previous flows, which are of the same epoch: a set is per epoch.
void DuplicatePictures::list_drawings(const DrawnSet& set) const {
  Json sheets = Json::array();
  for (const HashedFlow& flow : flows_) {
    if (!set.has(drawing_of(flow))) continue;
    sheets.push_back(
        {{"title", "Images of flow " + flow.name}, {"file", set.name_of(drawing_of(flow))}});
  }
  if (sheets.empty()) return;
  set.write("duplicates", {{"note",
                            "Next to each image, an identical or nearly identical one of another "
                            "flow, nearest first, read again from their files. Green frames: the "
                            "same item; red: different items; grey: unknown."},
                           {"sheets", std::move(sheets)}});
}

void DuplicatePictures::save(Archive& archive) const {
  Json flows = Json::array();
  for (const HashedFlow& flow : flows_) flows.push_back(packed(flow));
  std::string bytes;
  Json::to_msgpack(flows, bytes);
  archive.put("flows", bytes);
}

void DuplicatePictures::load(const Archive& archive) {
  std::vector<HashedFlow> flows;
  try {
    for (const Json& flow : Json::from_msgpack(archive.text("flows"))) {
      flows.push_back(unpacked(flow));
    }
  } catch (const Json::exception& fault) {
    throw Error(std::string("the saved images are damaged: ") + fault.what());
  }
  flows_ = std::move(flows);
}

}  // namespace seam::stages
