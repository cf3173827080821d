#include "stages/retrieval/index.hpp"

#include "stages/counted.hpp"
#include "stages/picture_paths.hpp"
#include "stages/retrieval/compared_batch.hpp"
#include "stages/retrieval/gallery_items.hpp"

namespace seam::stages {
void Index::declare(Declaration& d) {
  d.doc(
      "Keeps the embeddings of a gallery for `retrieval.search`, which refers to it by name. "
      "Rejects embeddings that have NaN or infinite elements, are zero or are longer than 1e15 "
      "and, if vectors are compared by cosine, those shorter than 1e-12, which have no direction.");
  declare_masks(d, masks_);
  d.parameter("metric", metric_,
              "how whole embeddings (mask none) are compared; masked ones are compared by cosine",
              {{"squared_euclidean", Metric::squared_euclidean}, {"cosine", Metric::cosine}});
  d.needs(field::items);
  d.needs(field::indices).doc("the row id by which ties are ranked");
  d.needs(field::origins);
  d.accepts(field::paths).doc("to detect queries that are in the gallery");
  d.upstream(lists_, "whether the images are those of published results");
  d.offers<retrieval::Gallery>(gallery_);
  d.keeps_state(seam::Kept::until_next_flow);
}

void Index::open(Context& /*context*/) {
  check_masks(masks_);
  gallery_.expect(masks_, metric_);
}

void Index::begin(Context& context) {
  gallery_.clear();
  gallery_.set_trainings(context.trainings());
}

void Index::process(const Packet& packet, Context& /*context*/) {
  const auto count = static_cast<std::size_t>(images_in(packet, masks_));
  const auto& items = packet[field::items];
  const auto& indices = packet[field::indices];
  const auto& origins = packet[field::origins];
  const bool categories = packet.has(field::categories);
  GalleryBatch batch;
  batch.input = input_of(packet);
  batch.files = picture_files(packet, count);
  for (std::size_t i = 0; i < count; ++i) {
    batch.rows.push_back(
        {indices[i], items[i], categories ? packet[field::categories][i] : -1, origins[i]});
  }
  for (const Mask mask : masks_) batch.vectors[mask] = embedding_under(mask, packet);
  gallery_.add(batch);
}

void Index::end(Context& context) {
  gallery_.build();
  gallery_.set_data_difference(differences(lists_));
  const GalleryItems items(gallery_.rows());
  context.info("gallery of " + counted(gallery_.rows().size(), "image") + " of " +
               counted(items.count(), "item"));
}

void Index::save(Archive& archive) const {
  gallery_.save(archive);
}

void Index::load(const Archive& archive) {
  gallery_.load(archive);
}

}  // namespace seam::stages
