/// The stage that moves queries towards their nearest gallery images, before they are searched.
///
///     embedding ──► [ retrieval.query_expansion ] ──► embedding ──► retrieval.search
///                                │ index                                 │ index
///                         retrieval.index ◄──────────────────────────────┘
#pragma once

#include <seam/tensor.hpp>
#include <string_view>

#include "stages/retrieval/expansion.hpp"
#include "stages/retrieval/gallery_items.hpp"
#include "stages/retrieval/vector_gallery.hpp"

namespace seam::stages {

class QueryExpansion final : public Compute<Transform> {
 public:
  static constexpr std::string_view name = "retrieval.query_expansion";

  void declare(Declaration& d) override;
  void open(Context& context) override;
  void begin(Context& context) override;
  void process(Packet& packet, Context& context) override;

 private:
  Ref<VectorGallery> gallery_;
  Expansion expansion_;
  bool exclude_self_ = false;
  GalleryItems items_;  // of this flow
};

}  // namespace seam::stages
