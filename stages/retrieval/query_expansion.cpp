#include "stages/retrieval/query_expansion.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "stages/retrieval/compared_batch.hpp"
#include "stages/retrieval/gallery_items.hpp"

namespace seam::stages {

using retrieval::Mask;

void QueryExpansion::declare(Declaration& d) {
  d.doc(
      "Query expansion: replaces the embedding of every query by the unit vector along the sum of "
      "itself and its nearest gallery embeddings, which the next search then uses. Reads no "
      "labels. The protocol in reports includes it.");
  d.reference("index", gallery_,
              "the `retrieval.index` stage whose gallery is searched; must be the same as for "
              "`retrieval.search`");
  d.parameter("neighbours", expansion_.neighbours, "number of gallery embeddings to add")
      .range(1, 10000);
  d.parameter("alpha", expansion_.alpha,
              "exponent of a neighbour's weight, which is its cosine similarity to the query to "
              "this power (0 if negative); with 0, all weights are 1, as for the query (average "
              "query expansion)")
      .range(0, 100);
  d.parameter("exclude_self", exclude_self_,
              "leave-one-out: no query is moved towards its own image; must be the same as for "
              "`retrieval.search`");
  d.needs(field::embedding);
  d.needs(field::items);
  d.needs(field::indices);
  d.needs(field::origins);
  d.provides(field::embedding);
  d.provides(field::query_expansion).doc("description of the expansion, for the protocol");
}

void QueryExpansion::open(Context& /*context*/) {
  require_indexed(*gallery_, {Mask::none});
}

void QueryExpansion::begin(Context& /*context*/) {
  require_ready(*gallery_);
  items_ = GalleryItems(gallery_->rows());
}

void QueryExpansion::process(Packet& packet, Context& context) {
  if (packet.has(field::query_expansion)) {
    throw Error("these queries were already expanded; use only one retrieval.query_expansion",
                Fault::configuration);
  }
  static_cast<void>(images_in(packet, {Mask::none}));  // throws if lengths differ
  const Tensor queries = embedding_under(Mask::none, packet);
  std::vector<std::int64_t> excluded;
  if (exclude_self_) excluded = rows_of_themselves(*gallery_, items_, packet);
  retrieval::SearchRequest request;
  request.k = expansion_.neighbours;
  request.excluded_row = excluded;
  request.name_of_query = [&packet](std::int64_t row) {
    return packet[field::origins][static_cast<std::size_t>(row)].text();
  };
  const retrieval::Neighbours found = gallery_->search(queries, request);
  Tensor moved = expanded(queries, gallery_->vectors(Mask::none), found,
                          gallery_->metric(Mask::none), expansion_, request.name_of_query);
  packet.set(field::embedding, moved.to(device_of(context)));
  packet.set(field::query_expansion, {"expand=" + expansion_.text(), exclude_self_, &*gallery_});
}

}  // namespace seam::stages
