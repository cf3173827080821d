#include "stages/dataset/lfw_pairs.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <system_error>
#include <utility>

#include "stages/counted.hpp"
#include "stages/pair_fields.hpp"

namespace seam::stages {

void LfwPairs::declare(Declaration& declaration) {
  declaration.doc(
      "Serves the pairs of a list of Labeled Faces in the Wild (LFW), two packets per pair, which "
      "share a `group`: View 1 (pairsDevTrain.txt, pairsDevTest.txt) for development, View 2 "
      "(pairs.txt, 10 folds of 300 + 300 pairs) for reporting. `batch` with group_size = 2 and "
      "carry = [\"same_item as same\", \"pair_fold\"] keeps the pairs together.");
  declaration.parameter("root", root_, "the folder with NAME/NAME_0001.jpg")
      .required()
      .folder_with({});
  declaration.parameter("list", list_, "the list of pairs").required().must_exist();
  declaration.parameter(
      "part", part_, "all: all pairs; train: the list's folds except `fold`; held_out: only `fold`",
      {{"all", Part::all}, {"train", Part::train}, {"held_out", Part::held_out}});
  declaration.parameter("fold", fold_, "which of the list's folds is held out, from 0")
      .range(0, 999'999);
  declaration
      .parameter(
          "expect", expect_,
          "number of pairs that the list must have: 6000 in pairs.txt, 2200 and 1000 in View 1")
      .at_least(1);
  declaration.parameter(
      "shuffle", shuffle_,
      "for training: shuffle the pairs in every epoch, depending on the run's seed");
  declaration.provides(field::path).doc("the image's file");
  declaration.provides(field::item).doc("the person's name");
  declaration.provides(field::index).doc("position in the list: 2k and 2k + 1 for pair k");
  declaration.provides(field::group).doc("the pair's number in the list, from 0");
  declaration.provides(field::same_item).doc("1 for a pair of one person, 0 for one of two");
  declaration.provides(field::pair_fold).doc("the list's fold, from 0");
  declaration.offers<ServedItems>(*this);
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
    throw Error(
        *list_name_ + ": " + counted(all, "pair") + ", but " + grouped(*expect_) +
        " were expected; this is a different list from the one the experiment was written for");
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

More LfwPairs::produce(Emitter& emitter, Context& context) {
  const auto world = static_cast<std::size_t>(std::max(context.world(), 1));
  const std::size_t at = next_ * world + static_cast<std::size_t>(context.rank());
  if (at >= 2 * order_.size()) return More::no;
  ++next_;
  const LfwPair& pair = pairs_[order_[at / 2]];
  const LfwImage& image = at % 2 == 0 ? pair.first : pair.second;
  Packet packet(Origin{list_name_, pair.line, image.path()});
  packet.set(field::path, root_ / image.path());
  packet.set(field::item, image.person);
  packet.set(field::index, 2 * pair.number + static_cast<std::int64_t>(at % 2));
  packet.set(field::group, pair.number);
  packet.set(field::same_item, std::int64_t{pair.same() ? 1 : 0});
  packet.set(field::pair_fold, pair.fold);
  emitter.emit(std::move(packet));
  return at + world < 2 * order_.size() ? More::yes : More::no;
}

}  // namespace seam::stages
