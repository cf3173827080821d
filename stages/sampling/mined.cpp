#include "stages/sampling/mined.hpp"

#include <torch/types.h>
#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "stages/counted.hpp"
#include "stages/packed_numbers.hpp"
#include "stages/packed_texts.hpp"
#include "stages/sampling/base/item_index.hpp"
#include "stages/sampling/mining.hpp"

namespace seam::stages {
namespace {

std::string numbered(const char* what, std::size_t number) {
  return what + std::string(" ") + std::to_string(number);
}

/// Positions among `images` images.
std::vector<std::int64_t> saved_positions(const Archive& archive, const std::string& name,
                                          std::size_t images) {
  std::vector<std::int64_t> positions = numbers_in(archive, name);
  const auto outside = [&](std::int64_t position) {
    return position < 0 || position >= static_cast<std::int64_t>(images);
  };
  if (positions.size() != images || std::ranges::any_of(positions, outside)) {
    throw Error("the saved list '" + name + "' does not fit " + counted(images, "mined image"));
  }
  return positions;
}

std::string compare_text(Compare compare) {
  return compare == Compare::embedding ? "embedding" : "anchor_capsule";
}

std::vector<std::int64_t> item_numbers(const std::vector<MinedImage>& images) {
  std::unordered_map<std::string, std::int64_t> known;
  std::vector<std::int64_t> numbers;
  for (const MinedImage& image : images) {
    const auto next = static_cast<std::int64_t>(known.size());
    numbers.push_back(known.try_emplace(image.item, next).first->second);
  }
  return numbers;
}

}  // namespace

void Mined::declare(Declaration& d) {
  d.doc(
      "Keeps the hard negatives of the training images for `sampling.triplets`, which refers to it "
      "by name. At the end of a flow that embeds all training images in evaluation mode, it finds "
      "the negatives that the rules of those triplets need, by exact search over all images.");
  d.parameter(
      "compare", compare_,
      "what is compared: whole embeddings, or, of anchor and negative, the class capsule of the "
      "anchor's category, as in training with the model's `train_mask = \"anchor_category\"`",
      {{"embedding", Compare::embedding}, {"anchor_capsule", Compare::anchor_capsule}});
  if (compare_ == Compare::embedding) {
    d.needs(field::embedding);
    d.accepts(field::categories).doc("for the rules that distinguish categories");
  } else {
    d.needs(field::capsules);
    d.needs(field::categories);
  }
  d.needs(field::items);
  d.needs(field::indices).doc("by which sampling.triplets identifies the images");
  d.needs(field::origins);
  d.offers<MinedNegatives>(*this);
  d.keeps_state(Kept::until_next_flow);
}

void Mined::want(const MiningRule& rule) {
  if (std::ranges::find(wanted_, rule, &Wanted::rule) == wanted_.end()) {
    wanted_.push_back({rule, {}});
  }
}

const MinedLists* Mined::lists(const MiningRule& rule) const {
  const auto found = std::ranges::find(wanted_, rule, &Wanted::rule);
  return found == wanted_.end() || !found->lists ? nullptr : &*found->lists;
}

void Mined::forget() {
  images_.clear();
  embedded_ = {};
  for (Wanted& wanted : wanted_) wanted.lists.reset();
}

void Mined::begin(Context& context) {
  forget();
  if (context.training()) {
    throw Error("flow '" + std::string(context.flow()) +
                    "' trains, but negatives are mined with the model in evaluation mode: put '" +
                    std::string(context.stage()) +
                    "' at the end of a separate flow without an optimizer",
                Fault::configuration);
  }
  if (wanted_.empty()) {
    context.warn("nothing to mine: no sampling.triplets stage in the schedule sets `mined = \"" +
                 std::string(context.stage()) + "\"`");
  }
}

void Mined::process(const Packet& packet, Context& /*context*/) {
  const auto& items = packet[field::items];
  const auto& indices = packet[field::indices];
  const auto& origins = packet[field::origins];
  const Tensor vectors =
      on_host(packet[compare_ == Compare::embedding ? field::embedding : field::capsules]).clone();
  if (!embedded_.vectors.empty() &&
      embedded_.vectors.front().sizes().slice(1) != vectors.sizes().slice(1)) {
    throw Error("all embeddings must have the same shape, but those from " +
                origins.front().text() + " on are " + shape_text(vectors.sizes()) +
                " and the first were " + shape_text(embedded_.vectors.front().sizes()));
  }
  for (std::size_t row = 0; row < items.size(); ++row) {
    if (indices[row] < 0) {
      throw Error(origins[row].text() +
                      " has no 'index', which sampling.triplets needs to identify it; use a data "
                      "set that provides one",
                  Fault::configuration);
    }
    if (items[row].empty()) {
      throw Error(origins[row].text() + " has no 'item', so its negatives are unknown",
                  Fault::configuration);
    }
    embedded_.images.push_back({indices[row], items[row], origins[row].item});
    embedded_.categories.push_back(packet.has(field::categories) ? packet[field::categories][row]
                                                                 : -1);
    embedded_.origins.push_back(origins[row]);
  }
  embedded_.vectors.push_back(vectors);
}

/// By ascending index, so that the order of arrival has no effect; the vectors in one tensor.
Mined::Embedded Mined::sorted() const {
  std::vector<std::int64_t> order(embedded_.images.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [this](std::int64_t row) {
    return embedded_.images[static_cast<std::size_t>(row)].index;
  });
  Embedded sorted;
  for (const std::int64_t at : order) {
    const auto row = static_cast<std::size_t>(at);
    const MinedImage& image = embedded_.images[row];
    if (!sorted.images.empty() && sorted.images.back().index == image.index) {
      throw Error("two images have index " + std::to_string(image.index) + ": " +
                  sorted.origins.back().text() + " and " + embedded_.origins[row].text() +
                  "; the mining flow must embed each training image once, without a sampler");
    }
    sorted.images.push_back(image);
    sorted.categories.push_back(embedded_.categories[row]);
    sorted.origins.push_back(embedded_.origins[row]);
  }
  sorted.vectors.push_back(
      torch::cat(embedded_.vectors).index_select(0, torch::tensor(order, torch::kInt64)));
  return sorted;
}

/// For each image another image of its item, or itself if the item has no other.
std::vector<std::int64_t> Mined::drawn_positives(const std::vector<std::int64_t>& items,
                                                 const std::vector<MinedImage>& images,
                                                 const Context& context) {
  const ItemIndex index(items);
  std::vector<std::int64_t> positives;
  for (std::int64_t row = 0; row < std::ssize(items); ++row) {
    Random random = context.random(static_cast<std::uint64_t>(images[positives.size()].index));
    const bool single = index.rows_of(index.item_of(row)).size() == 1;
    positives.push_back(single ? row : index.other_of_item(row, random));
  }
  return positives;
}

void Mined::end(Context& context) {
  if (wanted_.empty()) {
    embedded_ = {};
    return;
  }
  if (embedded_.images.empty()) throw Error("no image was received, so nothing can be mined");
  Embedded all = sorted();
  embedded_ = {};
  const std::vector<std::int64_t> items = item_numbers(all.images);
  const MiningSet set{all.vectors.front(), items, all.categories, [&all](std::int64_t row) {
                        return all.origins[static_cast<std::size_t>(row)].text();
                      }};
  for (Wanted& wanted : wanted_) {
    std::vector<std::int64_t> positives;
    if (wanted.rule.negatives == NegativeSource::semi_hard) {
      positives = drawn_positives(items, all.images, context);
    }
    MiningResult result = mine(set, wanted.rule, positives);
    const std::string rule(to_string(wanted.rule.negatives));
    const auto images = static_cast<double>(all.images.size());
    context.metric(rule + ".distance", result.mean_distance);
    if (wanted.rule.negatives != NegativeSource::hardest_other_category) {
      context.metric(rule + ".fallbacks", static_cast<double>(result.fallbacks) / images);
    }
    wanted.lists = std::move(result.lists);
  }
  images_ = std::move(all.images);
}

void Mined::save(Archive& archive) const {
  if (images_.empty()) return;
  std::vector<std::int64_t> indices;
  for (const MinedImage& image : images_) indices.push_back(image.index);
  put_numbers(archive, "indices", indices);
  archive.put("compare", compare_text(compare_));
  archive.put("items", packed_texts(images_, [](const auto& image) { return image.item; }));
  archive.put("names", packed_texts(images_, [](const auto& image) { return image.name; }));
  std::size_t i = 0;
  for (const Wanted& wanted : wanted_) {
    if (!wanted.lists) continue;
    archive.put(numbered("rule", i), to_string(wanted.rule.negatives));
    archive.put(numbered("margin", i), wanted.rule.margin);
    put_numbers(archive, numbered("negatives", i), wanted.lists->negatives);
    if (!wanted.lists->positives.empty()) {
      put_numbers(archive, numbered("positives", i), wanted.lists->positives);
    }
    ++i;
  }
}

void Mined::load(const Archive& archive) {
  forget();
  if (!archive.has("indices")) return;
  // Lists by another comparison are not restored. Earlier versions did not save it.
  if (archive.has("compare") && archive.text("compare") != compare_text(compare_)) return;
  const std::vector<std::int64_t> indices = numbers_in(archive, "indices");
  const std::vector<std::string> items = unpacked_texts(archive.text("items"), "mined images");
  const std::vector<std::string> names = unpacked_texts(archive.text("names"), "mined images");
  if (items.size() != indices.size() || names.size() != indices.size()) {
    throw Error("the saved mined images have different numbers of indices, items and names");
  }
  if (std::ranges::adjacent_find(indices, std::ranges::greater_equal{}) != indices.end()) {
    throw Error("the saved mined images are not in ascending order of index");
  }
  for (std::size_t row = 0; row < indices.size(); ++row) {
    images_.push_back({indices[row], items[row], names[row]});
  }
  for (std::size_t i = 0; archive.has(numbered("rule", i)); ++i) {
    // A rule that the pipeline no longer has is not restored.
    for (Wanted& wanted : wanted_) {
      if (archive.text(numbered("rule", i)) != to_string(wanted.rule.negatives) ||
          archive.number(numbered("margin", i)) != wanted.rule.margin) {
        continue;
      }
      MinedLists lists;
      lists.negatives = saved_positions(archive, numbered("negatives", i), indices.size());
      if (wanted.rule.negatives == NegativeSource::semi_hard) {
        lists.positives = saved_positions(archive, numbered("positives", i), indices.size());
      }
      wanted.lists = std::move(lists);
    }
  }
}

}  // namespace seam::stages
