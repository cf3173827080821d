#include "stages/retrieval/rerank.hpp"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "stages/ranking_method.hpp"
#include "stages/retrieval/compared_batch.hpp"
#include "stages/retrieval/gallery_items.hpp"

namespace seam::stages {

using retrieval::Mask;
using retrieval::Ranking;
using retrieval::Rankings;

void Rerank::declare(Declaration& d) {
  d.doc(
      "k-reciprocal re-ranking (Zhong et al. 2017): re-ranks the neighbours that "
      "`retrieval.search` found by the neighbours that they share with the query. Reads no labels. "
      "Distances become those of the re-ranking, and the protocol in reports includes it.");
  d.reference("index", gallery_, "the `retrieval.index` stage of `retrieval.search`");
  declare_masks(d, masks_);
  d.parameter("k1", options_.k1,
              "number of neighbours considered per image; the search must find at least this many")
      .range(1, 1000);
  d.parameter("k2", options_.k2,
              "number of nearest neighbours (including the image itself) over which an image's "
              "encoding is averaged, at most k1; 1: no averaging")
      .range(1, 1000);
  d.parameter("lambda", options_.lambda, "weight of the original distance in the final one")
      .range(0, 1);
  d.needs(field::rankings).contract("*[N," + std::to_string(options_.k1) + "+]");
  d.needs(field::items);
  d.needs(field::indices);
  d.needs(field::origins);
  d.provides(field::rankings);
}

void Rerank::open(Context& /*context*/) {
  check_masks(masks_);
  require_indexed(*gallery_, masks_);
  if (options_.k2 > options_.k1) {
    throw Error("`k2` is " + std::to_string(options_.k2) + " and `k1` " +
                    std::to_string(options_.k1) + "; k2 must not exceed k1",
                Fault::configuration);
  }
}

void Rerank::begin(Context& context) {
  reciprocal_.clear();
  told_of_ties_ = false;
  require_ready(*gallery_);
  items_ = GalleryItems(gallery_->rows());
  const auto go_on = [&context] {
    if (context.stop_requested()) {
      throw Error("stopped while the gallery was compared with itself", Fault::cancelled);
    }
  };
  for (const Mask mask : masks_) {
    reciprocal_.try_emplace(mask, *gallery_, mask, options_, go_on);
  }
}

void Rerank::check(const Rankings& rankings) const {
  const auto gallery = static_cast<std::int64_t>(gallery_->rows().size());
  if (rankings.gallery_images != gallery) {
    throw Error("the neighbours are from a gallery of " + std::to_string(rankings.gallery_images) +
                    " images, but `index` has " + std::to_string(gallery) +
                    "; give retrieval.rerank the `index` of the retrieval.search before it",
                Fault::configuration);
  }
  const bool same = std::ranges::equal(rankings.by_mask, masks_, {}, &Ranking::mask);
  if (!same) {
    throw Error(
        "the queries were searched under different masks; give retrieval.rerank the `masks` of the "
        "retrieval.search before it",
        Fault::configuration);
  }
  for (const Ranking& ranking : rankings.by_mask) {
    if (ranking.metric != gallery_->metric(ranking.mask)) {
      throw Error("the queries were compared by " + to_string(ranking.metric) +
                      ", the gallery by " + to_string(gallery_->metric(ranking.mask)) +
                      "; give retrieval.rerank the `index` of the retrieval.search before it",
                  Fault::configuration);
    }
  }
  if (leaves_out_sequences(rankings.method)) {
    throw Error(
        "re-ranking compares neighbourhoods in the whole gallery, including images of a query's "
        "own sequence, which exclude_sequence leaves out; remove retrieval.rerank or "
        "exclude_sequence",
        Fault::configuration);
  }
  if (is_reranked(rankings.method)) {
    throw Error("these neighbours were already re-ranked; use only one retrieval.rerank",
                Fault::configuration);
  }
}

void Rerank::rerank(Ranking& ranking, const Packet& packet,
                    const std::vector<std::int64_t>& excluded) const {
  const Tensor queries = embedding_under(ranking.mask, packet).contiguous();
  const ReciprocalGallery& gallery = reciprocal_.at(ranking.mask);
  const std::vector<float> farthest = gallery.farthest_from(queries, [&packet](std::int64_t row) {
    return packet[field::origins][static_cast<std::size_t>(row)].text();
  });
  retrieval::Neighbours& found = ranking.neighbours;
  const auto k = static_cast<std::size_t>(found.k);
  const auto asked = [&](std::int64_t q) {
    const std::size_t first = static_cast<std::size_t>(q) * k;
    return RerankedQuery{
        queries.data_ptr<float>() + q * queries.size(1), farthest[static_cast<std::size_t>(q)],
        excluded.empty() ? -1 : excluded[static_cast<std::size_t>(q)],
        std::span(found.rows).subspan(first, k), std::span(found.distances).subspan(first, k)};
  };
  // Before the threads start, so that the error names the first wrong query.
  for (std::int64_t q = 0; q < found.queries; ++q) {
    gallery.check(asked(q), packet[field::origins][static_cast<std::size_t>(q)].text());
  }
  at::parallel_for(0, found.queries, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t q = begin; q < end; ++q) {
      const std::size_t first = static_cast<std::size_t>(q) * k;
      const std::span<std::int64_t> rows = std::span(found.rows).subspan(first, k);
      const std::span<float> distances = std::span(found.distances).subspan(first, k);
      const std::span<std::int64_t> items = std::span(ranking.items).subspan(first, k);
      const std::vector<double> by = gallery.distances(asked(q));
      struct Entry {
        float distance;
        std::int64_t row;
        std::int64_t item;
      };
      std::vector<Entry> entries;
      for (std::size_t n = 0; n < by.size(); ++n) {
        entries.push_back({static_cast<float>(by[n]), rows[n], items[n]});
      }
      std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
        return a.distance != b.distance ? a.distance < b.distance : a.row < b.row;
      });
      for (std::size_t n = 0; n < entries.size(); ++n) {
        distances[n] = entries[n].distance;
        rows[n] = entries[n].row;
        items[n] = entries[n].item;
      }
      // Images that the search did not find rank after all that it found.
      found.tied_beyond[static_cast<std::size_t>(q)] = 0;
      found.tied_beyond_relevant[static_cast<std::size_t>(q)] = 0;
    }
  });
}

void Rerank::process(Packet& packet, Context& context) {
  Rankings rankings = std::as_const(packet)[field::rankings];
  const auto count = static_cast<std::size_t>(images_in(packet, masks_));
  const std::string problem = problem_with(rankings);
  if (!problem.empty() || rankings.item.size() != count) {
    throw Error("field 'rankings' cannot be re-ranked: " +
                    (problem.empty() ? "it has " + std::to_string(rankings.item.size()) +
                                           " queries, the batch has " + std::to_string(count)
                                     : problem),
                Fault::internal);
  }
  check(rankings);
  std::vector<std::int64_t> excluded;
  if (rankings.self_excluded) excluded = rows_of_themselves(*gallery_, items_, packet);
  for (Ranking& ranking : rankings.by_mask) {
    const std::vector<std::int64_t>& tied = ranking.neighbours.tied_beyond;
    if (!told_of_ties_ && std::ranges::any_of(tied, [](std::int64_t n) { return n > 0; })) {
      told_of_ties_ = true;
      context.warn(
          "images at exactly the same distance as the last of k neighbours are not re-ranked: "
          "their index decided which of them are among the k");
    }
    rerank(ranking, packet, excluded);
  }
  rankings.method +=
      "/rerank=" + options_.text() + "-of-" + std::to_string(rankings.by_mask.front().neighbours.k);
  packet.set(field::rankings, std::move(rankings));
}

void Rerank::end(Context& /*context*/) {
  reciprocal_.clear();  // memory
}

}  // namespace seam::stages
