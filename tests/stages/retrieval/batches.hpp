/// Batches and wired stages for tests of retrieval.
#pragma once

#include <memory>
#include <seam/gallery.hpp>
#include <seam/tensor.hpp>
#include <seam/testing.hpp>
#include <string>
#include <utility>
#include <vector>

#include "stages/retrieval/index.hpp"
#include "stages/retrieval/recall.hpp"
#include "stages/retrieval/search.hpp"
#include "tests/support/matchers.hpp"

namespace seam::stages::retrieval_test {

using Texts = std::vector<std::string>;

/// A batch of images first, first + 1, ...; each of these items, category 0.
inline Packet batch(std::int64_t first, const Texts& items, const Tensor& embedding) {
  Packet packet;
  std::vector<std::int64_t> indices;
  std::vector<Origin> origins;
  for (std::size_t i = 0; i < items.size(); ++i) {
    indices.push_back(first + static_cast<std::int64_t>(i));
    origins.push_back({std::make_shared<std::string>("list.txt"), indices.back() + 1, items[i]});
  }
  packet.set(field::items, items);
  packet.set(field::indices, indices);
  packet.set(field::categories, std::vector<std::int64_t>(items.size(), 0));
  packet.set(field::origins, origins);
  packet.set(field::embedding, embedding);
  return packet;
}

/// Two images at a time.
inline std::vector<Packet> batches_of_two(testing::Harness& /*harness*/) {
  return {batch(0, {"shirt", "skirt"}, torch::tensor({{1.F, 0.F}, {5.F, 0.F}})),
          batch(2, {"dress", "shirt"}, torch::tensor({{9.F, 0.F}, {2.F, 1.F}}))};
}

/// A gallery that was filled with them.
inline std::shared_ptr<testing::Harness> gathered() {
  auto gallery = std::make_shared<testing::Harness>("gallery", std::make_unique<Index>());
  gallery->push_all(batches_of_two(*gallery)).finish();
  return gallery;
}

/// The message of the only error.
inline std::string error_of(const testing::Harness& harness) {
  return only_error(harness).full_message();
}

/// The batch with the names of a different list.
inline Packet of_list(const std::string& list, Packet batch) {
  const auto file = std::make_shared<const std::string>(list);
  for (Origin& origin : batch[field::origins]) origin.file = file;
  return batch;
}

inline void refer_to(testing::Harness& search, testing::Harness& gallery) {
  void* found = gallery.runner().interface(type_name<retrieval::Gallery>());
  search.refer("index", *static_cast<retrieval::Gallery*>(found));
}

/// The results of a search, as if a gallery of another plugin had found them by this method.
inline std::vector<Packet> found_by(const std::string& method, std::vector<Packet> found) {
  for (Packet& packet : found) {
    retrieval::Rankings rankings = packet.get(field::rankings);
    rankings.method = method;
    packet.set(field::rankings, std::move(rankings));
  }
  return found;
}

/// The three stages, wired as a pipeline would.
class Retrieval {
 public:
  explicit Retrieval(std::unique_ptr<Stage> gallery = std::make_unique<Index>())
      : index("gallery", std::move(gallery)) {
    refer_to(search, index);
  }
  /// Evaluates at each of `k`, and searches the last of them, which is the largest.
  explicit Retrieval(const std::vector<std::int64_t>& k) : Retrieval() {
    search.set("k", k.back());
    recall.set("k", k);
  }

  void masks(const Texts& masks) {
    index.set("masks", masks);
    search.set("masks", masks);
  }

  /// Runs the evaluation flow over these queries, as images of a separate list.
  void evaluate(std::vector<Packet> queries) {
    for (Packet& query : queries) search.push(of_list("queries.txt", std::move(query)));
    search.finish();
    for (Packet& packet : search.take_outputs()) recall.push(std::move(packet));
    recall.finish();
  }

  testing::Harness index;
  testing::Harness search{"search", std::make_unique<Search>()};
  testing::Harness recall{"recall", std::make_unique<Recall>()};
};

}  // namespace seam::stages::retrieval_test
