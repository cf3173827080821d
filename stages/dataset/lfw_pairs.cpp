#include "stages/dataset/lfw_pairs.hpp"

#include <algorithm>
#include <numeric>
#include <system_error>

#include "stages/counted.hpp"
#include "stages/pair_fields.hpp"

namespace seam::stages {
namespace {

class LfwPairParser {
 public:
  explicit LfwPairParser(const ListText& list) : lines_(list) {}

  LfwPairList parse() {
    if (!lines_.next()) fail("the file is empty; the first line must hold a count");
    read_head(lines_.row().columns);
    while (lines_.next_row("pairs")) read_pair(lines_.row().columns);
    if (count() < promised()) {
      fail("the list ends after " + counted(count(), "pair") + ", but the first line declares " +
           promise() + "; a line is missing, or the first line belongs to a different list");
    }
    return std::move(result_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { lines_.row().fail(what); }

  [[nodiscard]] std::int64_t count() const {
    return static_cast<std::int64_t>(result_.pairs.size());
  }
  [[nodiscard]] std::int64_t promised() const {
    return 2 * result_.folds * result_.pairs_of_each_kind;
  }
  [[nodiscard]] std::string promise() const {
    const std::string each = grouped(result_.pairs_of_each_kind);
    return grouped(promised()) + ", " +
           (result_.folds > 1 ? std::to_string(result_.folds) + " folds of " : std::string()) +
           each + " of one person and " + each + " of two";
  }

  void read_head(const std::vector<std::string_view>& columns) {
    constexpr std::int64_t most = 1'000'000;
    std::vector<std::int64_t> numbers;
    for (const std::string_view column : columns) {
      if (const auto number = whole_number(column, 1, most)) numbers.push_back(*number);
    }
    if (numbers.size() != columns.size() || numbers.empty() || numbers.size() > 2) {
      fail((columns.size() == 3 || columns.size() == 4
                ? std::string("the first line is a pair; the line with the counts is missing")
                : "the first line is " + in_quotes(lines_.text().substr(0, 40))) +
           "; it must hold the number of pairs of each kind: \"10 300\" in pairs.txt, \"1100\" in "
           "pairsDevTrain.txt, \"500\" in pairsDevTest.txt");
    }
    if (numbers.size() == 2) result_.folds = numbers.front();
    result_.pairs_of_each_kind = numbers.back();
  }

  [[nodiscard]] LfwImage image(std::string_view person, std::string_view digits) const {
    const auto number = whole_number(digits, 1, 9999);
    if (!number) fail(in_quotes(digits) + " is not an image number from 1 to 9999");
    if (person.find('/') != std::string_view::npos || person.starts_with('.')) {
      fail(in_quotes(person) + " is not a person's name: it would leave the data set's folder");
    }
    return {std::string(person), *number};
  }

  void read_pair(const std::vector<std::string_view>& columns) {
    if (columns.size() != 3 && columns.size() != 4) {
      fail(counted(columns.size(), "column") +
           "; a pair of one person has 3 (name, two numbers), one of two has 4 (name, number, "
           "name, number)");
    }
    if (count() == promised()) {
      fail("an additional pair, but the first line declares " + promise());
    }
    const std::int64_t each = result_.pairs_of_each_kind;
    const std::int64_t in_fold = count() % (2 * each);
    const std::int64_t fold = count() / (2 * each);
    const bool same = columns.size() == 3;
    if (same != (in_fold < each)) {
      fail(std::string("a pair of ") + (same ? "one person" : "two persons") + " instead of pair " +
           std::to_string(in_fold % each + 1) + " of " + std::to_string(each) + " of " +
           (same ? "two persons" : "one person") + " of fold " + std::to_string(fold + 1) +
           "; a line before it is missing or superfluous, or the first line belongs to a different "
           "list");
    }
    LfwPair pair{image(columns[0], columns[1]),
                 same ? image(columns[0], columns[2]) : image(columns[2], columns[3]), count(),
                 fold, lines_.row().line};
    if (pair.first == pair.second) fail("the pair has the same image twice");
    if (!same && pair.same()) {
      fail("a pair of two persons names " + in_quotes(pair.first.person) + " twice");
    }
    const auto [known, fresh] = line_of_pair_.try_emplace(
        std::pair<LfwImage, LfwImage>(std::minmax(pair.first, pair.second)), pair.line);
    if (!fresh) fail("the pair is already on line " + std::to_string(known->second));
    result_.pairs.push_back(std::move(pair));
  }

  ListReader lines_;
  LfwPairList result_;
  std::map<std::pair<LfwImage, LfwImage>, std::int64_t> line_of_pair_;
};

}  // namespace

std::string LfwImage::path() const {
  return person + "/" + person + "_" + zero_padded(number, 4) + ".jpg";
}

LfwPairList parse_lfw_pairs(const ListText& list) {
  return LfwPairParser(list).parse();
}

void LfwPairs::declare(Declaration& d) {
  d.doc(
      "Serves the pairs of a list of Labeled Faces in the Wild (LFW), two packets per pair, which "
      "share a `group`: View 1 (pairsDevTrain.txt, pairsDevTest.txt) for development, View 2 "
      "(pairs.txt, 10 folds of 300 + 300 pairs) for reporting. `batch` keeps them "
      "together; its carry = [\"same_item as same\", \"pair_fold\"] passes the labels and folds "
      "on.");
  d.parameter("root", root_, "the folder with NAME/NAME_0001.jpg").required().folder_with({});
  d.parameter("list", list_, "the list of pairs").required().must_exist();
  d.parameter("part", part_,
              "all: all pairs; train: the list's folds except `fold`; held_out: only `fold`",
              {{"all", Part::all}, {"train", Part::train}, {"held_out", Part::held_out}});
  d.parameter("fold", fold_, "which of the list's folds is held out, from 0")
      .range(0, 999'999)
      .replicate();
  d.parameter("expect", expect_,
              "number of pairs that the list must have: 6000 in pairs.txt, 2200 and 1000 in View 1")
      .at_least(1)
      .same_results();
  d.parameter("shuffle", shuffle_,
              "for training: shuffle the pairs in every epoch, depending on the run's seed");
  d.provides(field::path).doc("the image's file");
  d.provides(field::item).doc("the person's name");
  d.provides(field::index).doc("position in the list: 2k and 2k + 1 for pair k");
  d.provides(field::group).doc("the pair's number in the list, from 0");
  d.provides(field::group_size).doc("2");
  d.provides(field::same_item).doc("1 for a pair of one person, 0 for one of two");
  d.provides(field::pair_fold).doc("the list's fold, from 0");
  d.offers<ServedItems>(*this);
}

void LfwPairs::check_images() const {
  std::error_code fault;
  for (const LfwPair& pair : pairs_) {
    for (const LfwImage* image : {&pair.first, &pair.second}) {
      if (std::filesystem::is_regular_file(root_ / image->path(), fault)) continue;
      throw Error(*list_name_ + ":" + std::to_string(pair.line) + ": '" +
                  (root_ / image->path()).string() +
                  "' is missing; set 'root' to the folder with the people's folders, or download "
                  "the images again");
    }
  }
}

void LfwPairs::open(Context& context) {
  if ((part_ == Part::all) == fold_.has_value()) {
    throw Error(fold_ ? "'fold' is set, but part is \"all\"; set part to \"train\" or \"held_out\""
                      : "'part' needs a fold, but 'fold' is not set",
                Fault::configuration);
  }
  LfwPairList list = parse_lfw_pairs(read_list_text(list_, "the list of pairs"));
  list_name_ = std::make_shared<const std::string>(list_.string());
  const auto all = static_cast<std::int64_t>(list.pairs.size());
  if (expect_ && *expect_ != all) {
    refuse_count(*list_name_ + ": " + counted(all, "pair"), grouped(*expect_));
  }
  if (fold_ && (*fold_ >= list.folds || list.folds == 1)) {
    throw Error(*list_name_ + ": fold is " + std::to_string(*fold_) + ", but the list has " +
                    counted(list.folds, "fold") + ", counted from 0" +
                    (list.folds == 1 ? ": it cannot be split" : ""),
                Fault::configuration);
  }
  pairs_ = std::move(list.pairs);
  std::erase_if(pairs_, [&](const LfwPair& pair) {
    return part_ != Part::all && (pair.fold == *fold_) != (part_ == Part::held_out);
  });
  check_images();
  people_.clear();
  for (const LfwPair& pair : pairs_) people_.insert({pair.first.person, pair.second.person});
  order_.resize(pairs_.size());
  context.info("serving " + counted(pairs_.size(), "pair") + " of " + grouped(all) + " in " +
               counted(list.folds, "fold"));
}

void LfwPairs::begin(Context& context) {
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  if (shuffle_) context.random(std::uint64_t{0}).shuffle(std::span(order_));
  next_ = 0;
}

More LfwPairs::produce(Emitter& emitter, Context& /*context*/) {
  if (next_ >= 2 * order_.size()) return More::no;
  const std::size_t at = next_++;
  const LfwPair& pair = pairs_[order_[at / 2]];
  const LfwImage& image = at % 2 == 0 ? pair.first : pair.second;
  Packet packet(Origin{list_name_, pair.line, image.path()});
  packet.set(field::path, root_ / image.path());
  packet.set(field::item, image.person);
  packet.set(field::index, 2 * pair.number + static_cast<std::int64_t>(at % 2));
  packet.set(field::group, pair.number);
  packet.set(field::group_size, std::int64_t{2});
  packet.set(field::same_item, std::int64_t{pair.same() ? 1 : 0});
  packet.set(field::pair_fold, pair.fold);
  emitter.emit(std::move(packet));
  return next_ < 2 * order_.size() ? More::yes : More::no;
}

}  // namespace seam::stages
