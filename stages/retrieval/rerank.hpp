/// The stage that re-ranks the neighbours found by a search, using k-reciprocal neighbours.
///
///     rankings, embedding ──► [ retrieval.rerank ] ──► rankings, the same neighbours in new order
///                                    │ index
///                             retrieval.index
#pragma once

#include <map>
#include <seam/tensor.hpp>
#include <string_view>
#include <vector>

#include "stages/retrieval/gallery_items.hpp"
#include "stages/retrieval/k_reciprocal.hpp"
#include "stages/retrieval/vector_gallery.hpp"

namespace seam::stages {

class Rerank final : public Compute<Transform> {
 public:
  static constexpr std::string_view name = "retrieval.rerank";

  void declare(Declaration& d) override;
  void open(Context& context) override;
  void begin(Context& context) override;
  void process(Packet& packet, Context& context) override;
  void end(Context& context) override;

 private:
  void check(const retrieval::Rankings& rankings) const;
  void rerank(retrieval::Ranking& ranking, const Packet& packet,
              const std::vector<std::int64_t>& excluded) const;

  Ref<VectorGallery> gallery_;
  std::vector<retrieval::Mask> masks_{retrieval::Mask::none};
  KReciprocal options_;
  // Of this flow.
  GalleryItems items_;
  std::map<retrieval::Mask, ReciprocalGallery> reciprocal_;
  bool told_of_ties_ = false;
};

}  // namespace seam::stages
