#include "stages/sampling/pairs.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <utility>

#include "stages/counted.hpp"
#include "stages/pair_fields.hpp"
#include "stages/sampling/pair_list.hpp"

namespace seam::stages {
namespace {

std::vector<ListedImage> listed(const std::vector<Packet>& rows) {
  std::vector<ListedImage> images;
  images.reserve(rows.size());
  for (const Packet& row : rows) images.push_back({row.origin().item, row.get(field::item)});
  return images;
}

std::string text_of_list(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in.is_open() || in.bad() || std::filesystem::is_directory(file)) {
    throw Error("the list of pairs '" + file.string() +
                "' cannot be read; set 'list' to a file with the columns same, first and second");
  }
  return text;
}

}  // namespace

void DrawnPairs::declare(Declaration& declaration) {
  declaration.doc(
      "Collects the images of an epoch and emits them as pairs, of one item or of two: two "
      "consecutive packets that share a `group`. `batch` with group_size = 2 and carry = "
      "[\"same_item as same\"] keeps them together.\n\nPlace it between the data set and "
      "`image.decode`, so that it collects only the names of an epoch's images and not their "
      "pixels.");
  declaration.parameter("pairs", drawn_,
                        "each_epoch: new random pairs in every epoch, for training; once: distinct "
                        "pairs, the same in every epoch and run, half of them matching; all: every "
                        "pair of two images; list: the pairs in `list`",
                        {{"each_epoch", Drawn::each_epoch},
                         {"once", Drawn::once},
                         {"all", Drawn::all},
                         {"list", Drawn::list}});
  declaration.parameter("rule", rule_,
                        "how the pairs of each_epoch are drawn. balanced: half of them match, "
                        "never with the same image twice, and the others never show one item; "
                        "released: as in the code of Siamese Capsule Networks",
                        {{"balanced", PairRule::balanced}, {"released", PairRule::released}});
  declaration
      .parameter("count", count_wanted_,
                 "number of pairs for each_epoch or once; default: the number of images, or for "
                 "once, the largest balanced number")
      .at_least(1);
  declaration.parameter("pair_seed", pair_seed_, "seed for pairs = \"once\"");
  declaration
      .parameter("list", list_,
                 "a CSV file with the columns same (1 or 0), first and second (the images' names "
                 "in their data set)")
      .must_exist();
  declaration.parameter("folder", folder_,
                        "folder for the pairs of once, relative to the run folder; they are "
                        "written as STAGE.csv, which `list` can read");
  declaration.needs(field::item);
  declaration.provides(field::group).doc("the pair's number in the epoch");
  declaration.provides(field::same_item).doc("1 for a pair of one item, 0 for one of two");
}

void DrawnPairs::open(Context& /*context*/) {
  const auto refuse = [](const std::string& what) { throw Error(what, Fault::configuration); };
  if ((drawn_ == Drawn::list) != !list_.empty()) {
    refuse(list_.empty() ? "pairs is \"list\", but 'list' is not set"
                         : "'list' is set, but pairs is not \"list\"");
  }
  if (count_wanted_ && (drawn_ == Drawn::all || drawn_ == Drawn::list)) {
    refuse(
        "'count' has no effect with this value of 'pairs'; remove it, or set pairs to "
        "\"each_epoch\" or \"once\"");
  }
  if (rule_ == PairRule::released && drawn_ != Drawn::each_epoch) {
    refuse("rule = \"released\" only applies to pairs = \"each_epoch\"; set that");
  }
}

void DrawnPairs::begin(Context& context) {
  if (drawn_ == Drawn::once) flow_.enter(context);
  rows_.clear();
  items_.clear();
  item_numbers_.clear();
  sampler_.reset();
  fixed_.clear();
  next_ = 0;
  count_ = 0;
}

void DrawnPairs::process(Packet packet, Emitter& /*emitter*/, Context& /*context*/) {
  const auto next = static_cast<std::int64_t>(item_numbers_.size());
  items_.push_back(item_numbers_.try_emplace(packet.get(field::item), next).first->second);
  rows_.push_back(std::move(packet));
}

void DrawnPairs::start(const Context& context) {
  sampler_.emplace(items_);
  switch (drawn_) {
    case Drawn::each_epoch:
      count_ = count_wanted_.value_or(sampler_->images());
      return;
    case Drawn::once:
      fixed_ = sampler_->distinct(
          count_wanted_.value_or(2 * std::min(sampler_->same_pairs(), sampler_->other_pairs())),
          pair_seed_);
      write_list(context);
      break;
    case Drawn::all:
      fixed_ = sampler_->all();
      break;
    case Drawn::list:
      fixed_ = parse_pair_list(text_of_list(list_), list_.string(), listed(rows_));
      break;
  }
  count_ = static_cast<std::int64_t>(fixed_.size());
  if (context.epoch() > 0) return;
  const auto same =
      std::count_if(fixed_.begin(), fixed_.end(), [](const Pair& pair) { return pair.same; });
  context.info(counted(count_, "pair") + " of " + counted(rows_.size(), "image") + ", " +
               grouped(same) + " of them of one item");
}

void DrawnPairs::write_list(const Context& context) const {
  if (!folder_.is_absolute() && context.run_directory().empty()) {
    context.info("the run has no run folder, so the pairs are not written");
    return;
  }
  ExportedFile file(export_path(folder_, std::string(context.stage()) + ".csv", context));
  file.write(pair_list_text(fixed_, listed(rows_)));
  file.finish();
  file.commit();
}

Pair DrawnPairs::pair(std::int64_t number, const Context& context) const {
  if (drawn_ != Drawn::each_epoch) return fixed_[static_cast<std::size_t>(number)];
  return sampler_->draw(rule_, context.seed(), stream_of(context.stage()),
                        static_cast<std::uint64_t>(context.epoch()),
                        static_cast<std::uint64_t>(number));
}

More DrawnPairs::end(Emitter& emitter, Context& context) {
  if (!sampler_) {
    if (rows_.empty()) return More::no;  // a stopped flow
    start(context);
  }
  const Pair drawn = pair(next_, context);
  for (const std::int64_t row : std::array{drawn.first, drawn.second}) {
    Packet packet = rows_[static_cast<std::size_t>(row)];
    packet.set(field::group, next_);
    packet.set(field::same_item, std::int64_t{drawn.same ? 1 : 0});
    emitter.emit(std::move(packet));
  }
  return ++next_ < count_ ? More::yes : More::no;
}

}  // namespace seam::stages
