#include "stages/dataset/lfw.hpp"

#include <algorithm>
#include <system_error>

#include "stages/counted.hpp"
#include "stages/dataset/lfw_pairs.hpp"

namespace seam::stages {
namespace {

namespace fs = std::filesystem;

/// The description of a list of pairs in messages.
constexpr const char* pair_list = "the list of pairs";

/// The people of a list, or of one of its folds.
std::set<std::string> people_of(const LfwPairList& list, std::optional<std::int64_t> fold) {
  std::set<std::string> people;
  for (const LfwPair& pair : list.pairs) {
    if (!fold || pair.fold == *fold) people.insert({pair.first.person, pair.second.person});
  }
  return people;
}

}  // namespace

void Lfw::declare(Declaration& d) {
  d.doc(
      "Serves the images of Labeled Faces in the Wild (LFW), one per packet, person by person. All "
      "images of a person are in the same fold. For the pairs of its lists, use "
      "`dataset.lfw_pairs`.");
  d.parameter("root", root_, "the folder with NAME/NAME_0001.jpg").required().folder_with({});
  d.parameter("expect", expect_, "number of images that must exist; 0: any number")
      .at_least(0)
      .same_results();
  d.parameter("only", only_,
              "a list of pairs (pairsDevTrain.txt); serve only the people on it, except those in "
              "leave_out")
      .must_exist();
  d.parameter("leave_out", leave_out_,
              "a list of pairs (pairs.txt) whose people are not served: an evaluation on people "
              "seen in training is meaningless")
      .must_exist();
  d.parameter("leave_out_fold", leave_out_fold_,
              "leave out only the people in this fold of leave_out, from 0")
      .range(0, 999'999)
      .replicate();
  declare_rows(d, {.item = "the person's name",
                   .category = "the person's number in the order of names, from 0",
                   .index = "position in the whole data set, from 0"});
}

std::set<std::string> Lfw::left_out() const {
  if (leave_out_.empty()) {
    if (!leave_out_fold_) return {};
    throw Error("'leave_out_fold' is set, but 'leave_out' is not", Fault::configuration);
  }
  const LfwPairList list = parse_lfw_pairs(read_list_text(leave_out_, pair_list));
  if (leave_out_fold_ && *leave_out_fold_ >= list.folds) {
    throw Error(leave_out_.string() + ": leave_out_fold is " + std::to_string(*leave_out_fold_) +
                    ", but the list has " + counted(list.folds, "fold") + ", counted from 0",
                Fault::configuration);
  }
  return people_of(list, leave_out_fold_);
}

void Lfw::check_present(const std::set<std::string>& people,
                        const std::vector<std::string>& present, const fs::path& list,
                        const std::string& what, const Context& context) const {
  for (const std::string& person : people) {
    if (std::ranges::binary_search(present, person)) continue;
    const std::string text = "'" + list.string() + "' has '" + person +
                             "', who has no folder in '" + root_.string() + "'";
    if (expect_ > 0) throw Error(text + ", so this person cannot be " + what);
    context.warn(text);
  }
}

void Lfw::open(Context& context) {
  require_folder(root_, "; set 'root' to the folder with the people");
  const std::set<std::string> hidden = left_out();
  std::set<std::string> wanted;
  if (!only_.empty()) {
    wanted = people_of(parse_lfw_pairs(read_list_text(only_, pair_list)), {});
  }
  std::vector<std::string> people;
  std::vector<PictureRow> rows;
  std::int64_t images = 0;
  std::error_code fault;
  std::int64_t served_people = 0;
  for (const fs::path& folder : entries_of(root_)) {
    if (!fs::is_directory(folder, fault)) continue;  // a README, a list
    const std::string person = folder.filename().string();
    const auto category = static_cast<std::int64_t>(people.size());
    people.push_back(person);
    const bool is_served = !hidden.contains(person) && (only_.empty() || wanted.contains(person));
    if (is_served) ++served_people;
    std::int64_t number = 0;
    for (const fs::path& file : entries_of(folder)) {
      const std::string expected = LfwImage{person, ++number}.path();
      const std::string found = person + "/" + file.filename().string();
      if (found != expected) {
        throw Error("'" + (root_ / found).string() + "' was found where '" + expected +
                    "' was expected; this copy lacks an image or has an additional file");
      }
      if (is_served) rows.push_back({file, found, person, category, images, 0});
      ++images;
    }
  }
  if (expect_ > 0 && images != expect_) {
    throw Error("'" + root_.string() + "' has " + counted(images, "image") + ", but " +
                grouped(expect_) +
                " are expected; download them again, or set expect = 0 for a part of the data set");
  }
  check_present(hidden, people, leave_out_, "left out", context);
  check_present(wanted, people, only_, "served", context);
  if (rows.empty()) throw Error("no image in '" + root_.string() + "' is left to be served");
  const auto others = static_cast<std::int64_t>(people.size()) - served_people;
  const std::string by = only_.empty()        ? "'leave_out'"
                         : leave_out_.empty() ? "'only'"
                                              : "'only' and 'leave_out'";
  context.info(
      counted(rows.size(), "image") + " of " + counted(served_people, "person", "people") +
      (others > 0 ? "; " + counted(others, "person", "people") + " not served, by " + by : ""));
  serve(std::move(rows), std::move(people), root_.string(), context);
}

}  // namespace seam::stages
