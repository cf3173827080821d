#include "stages/report/duplicates.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <tuple>
#include <utility>

#include "stages/counted.hpp"
#include "stages/decimals.hpp"
#include "stages/packed_numbers.hpp"
#include "stages/packed_texts.hpp"
#include "stages/picture_paths.hpp"
#include "stages/report/contact_sheet.hpp"
#include "stages/report/thumbnails.hpp"
#include "stages/table_cell.hpp"

namespace seam::stages {
namespace {

using Json = nlohmann::ordered_json;

std::string quoted(const std::string& name) {
  return "'" + name + "'";
}

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

enum class Items : std::uint8_t { unknown, same, different };

Items items_of(const HashedPicture& a, const HashedPicture& b) {
  if (a.item.empty() || b.item.empty()) return Items::unknown;
  return a.item == b.item ? Items::same : Items::different;
}

std::string items_text(Items items) {
  return items == Items::unknown ? "unknown" : items == Items::same ? "same" : "different";
}

Role frame_of(Items items) {
  return items == Items::unknown ? Role::single
         : items == Items::same  ? Role::positive
                                 : Role::negative;
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
    constexpr std::uint8_t grey = 224;
    cell.image = Image(1, 1, 3);
    std::fill_n(cell.image.data(), cell.image.bytes(), grey);
    cell.text[1] = "cannot be read";
  }
  return cell;
}

void put_small(Archive& archive, const std::string& name, const HashedFlow& flow) {
  constexpr std::size_t size = std::tuple_size_v<SmallPicture>;
  Archive::Entry entry{
      "u8",
      {static_cast<std::int64_t>(flow.pictures.size()), static_cast<std::int64_t>(size)},
      std::vector<std::byte>(flow.pictures.size() * size)};
  std::byte* to = entry.bytes.data();
  for (const HashedPicture& picture : flow.pictures) {
    std::memcpy(to, picture.hash.small.data(), size);
    to += size;
  }
  archive.put(name, std::move(entry));
}

std::vector<SmallPicture> small_in(const Archive& archive, const std::string& name) {
  constexpr std::size_t size = std::tuple_size_v<SmallPicture>;
  const Archive::Entry& entry = archive.get(name, "u8");
  std::vector<SmallPicture> pictures(entry.bytes.size() / size);
  const std::byte* from = entry.bytes.data();
  for (SmallPicture& picture : pictures) {
    std::memcpy(picture.data(), from, size);
    from += size;
  }
  return pictures;
}

std::string entry_of(std::size_t flow, const std::string& what) {
  return "flow " + std::to_string(flow) + " " + what;
}

void save_flow(Archive& archive, std::size_t at, const HashedFlow& flow) {
  const auto texts = [&](const std::string& what, const auto& text) {
    archive.put(entry_of(at, what), packed_texts(flow.pictures, text));
  };
  const auto numbers = [&](const std::string& what, const auto& number) {
    std::vector<std::int64_t> all;
    std::ranges::transform(flow.pictures, std::back_inserter(all), number);
    put_numbers(archive, entry_of(at, what), all);
  };
  archive.put(entry_of(at, "name"), flow.name);
  numbers("pixels", [](const auto& of) { return static_cast<std::int64_t>(of.hash.pixels); });
  numbers("differences",
          [](const auto& of) { return static_cast<std::int64_t>(of.hash.differences); });
  put_small(archive, entry_of(at, "small"), flow);
  numbers("lines", [](const auto& of) { return of.origin.line; });
  texts("lists", [](const auto& of) { return of.origin.file ? *of.origin.file : std::string(); });
  texts("names", [](const auto& of) { return of.origin.item; });
  texts("files", [](const auto& of) { return of.file; });
  texts("items", [](const auto& of) { return of.item; });
}

HashedFlow loaded_flow(const Archive& archive, std::size_t at) {
  const auto texts = [&](const std::string& what) {
    return unpacked_texts(archive.text(entry_of(at, what)), "images");
  };
  const auto numbers = [&](const std::string& what) {
    return numbers_in(archive, entry_of(at, what));
  };
  const std::vector<std::int64_t> pixels = numbers("pixels");
  const std::vector<std::int64_t> differences = numbers("differences");
  const std::vector<SmallPicture> small = small_in(archive, entry_of(at, "small"));
  const std::vector<std::int64_t> lines = numbers("lines");
  const std::vector<std::string> lists = texts("lists");
  const std::vector<std::string> names = texts("names");
  const std::vector<std::string> files = texts("files");
  const std::vector<std::string> items = texts("items");
  for (const std::size_t size : {differences.size(), small.size(), lines.size(), lists.size(),
                                 names.size(), files.size(), items.size()}) {
    if (size != pixels.size()) throw Error("the saved images and their names differ in number");
  }
  HashedFlow flow{archive.text(entry_of(at, "name")), {}};
  std::shared_ptr<const std::string> list;  // shared by the images of a list
  for (std::size_t row = 0; row < pixels.size(); ++row) {
    if (lists[row].empty()) {
      list.reset();
    } else if (!list || *list != lists[row]) {
      list = std::make_shared<const std::string>(lists[row]);
    }
    flow.pictures.push_back({{static_cast<std::uint64_t>(pixels[row]),
                              static_cast<std::uint64_t>(differences[row]), small[row]},
                             {list, lines[row], names[row]},
                             files[row],
                             items[row]});
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
             (others[i] == &current_ ? "of this flow" : quoted(others[i]->name)) + " (" +
             grouped(static_cast<std::int64_t>(found.by_flow[i].identical)) + ")";
  }
  const DuplicatePair& first = found.pairs.front();
  return grouped(static_cast<std::int64_t>(found.all.identical)) + " of " +
         counted(current_.pictures.size(), "image") + " of flow '" + current_.name +
         "' have the same pixels as others, " + flows +
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
    for (const std::int64_t number :
         {static_cast<std::int64_t>(count.compared_with),
          static_cast<std::int64_t>(count.identical), static_cast<std::int64_t>(count.near),
          count.identical_pairs, count.near_pairs}) {
      text += " " + grouped(number) + " |";
    }
    text += "\n";
  };
  for (std::size_t i = 0; i < others.size(); ++i) {
    row(others[i] == &current_ ? "each other" : "`" + others[i]->name + "`", found.by_flow[i]);
  }
  if (others.size() > 1) row("all", found.all);
  const std::size_t listed = std::min(rows_, found.pairs.size());
  if (listed == 0) return text;
  const std::int64_t all = found.all.identical_pairs + found.all.near_pairs;
  text += "\n" +
          (static_cast<std::int64_t>(listed) < all
               ? "The nearest " + grouped(static_cast<std::int64_t>(listed)) + " of " +
                     counted(all, "pair")
               : counted(all, "pair")) +
          ", with the levels by which they differ:\n\n| | image | flow | other image | items |\n" +
          "|---|---|---|---|---|\n";
  for (std::size_t i = 0; i < listed; ++i) {
    const DuplicatePair& pair = found.pairs[i];
    const HashedPicture& picture = current_.pictures[pair.row];
    const HashedPicture& other = others[pair.flow]->pictures[pair.other];
    text += "| " + likeness_text(pair) + " | " + picture_name(picture.origin) + " | `" +
            others[pair.flow]->name + "` | " + picture_name(other.origin) + " | " +
            items_text(items_of(picture, other)) + " |\n";
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
    const Role frame = frame_of(items_of(picture, other));
    cells.push_back(cell_of(picture, size_, likeness_text(pair), frame));
    cells.push_back(cell_of(other, size_, others[pair.flow]->name, frame));
    pairs.insert(pairs.end(), 2, static_cast<std::int64_t>(i));
  }
  if (cells.empty()) return;
  const Image sheet = contact_sheet(cells, sheet_columns(pairs, most_columns), size_);
  static_cast<void>(set.write_picture(drawing_of(current_), jpeg_of(sheet)));
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
  archive.put("flows", static_cast<std::int64_t>(flows_.size()));
  for (std::size_t i = 0; i < flows_.size(); ++i) save_flow(archive, i, flows_[i]);
}

void DuplicatePictures::load(const Archive& archive) {
  std::vector<HashedFlow> flows;
  const std::int64_t count = archive.integer("flows");
  for (std::int64_t i = 0; i < count; ++i) {
    flows.push_back(loaded_flow(archive, static_cast<std::size_t>(i)));
  }
  flows_ = std::move(flows);
}

}  // namespace seam::stages
