/// The stage at the end of a gallery flow: keeps the embeddings for searches.
///
///     embedding, items, ... ──► [ retrieval.index ]  ◄── index = "..." of retrieval.search
#pragma once

#include <seam/reference.hpp>
#include <seam/tensor.hpp>

#include "stages/published_lists.hpp"
#include "stages/retrieval/gallery_index.hpp"

namespace seam::stages {

class Index final : public Compute<Sink> {
 public:
  static constexpr std::string_view name = "retrieval.index";

  void declare(Declaration& d) override;
  void open(Context& context) override;
  void begin(Context& context) override;
  void process(const Packet& packet, Context& context) override;
  void end(Context& context) override;
  void save(Archive& archive) const override;
  void load(const Archive& archive) override;

 private:
  std::vector<Mask> masks_{Mask::none};
  Metric metric_ = Metric::squared_euclidean;
  GalleryIndex gallery_;
  Refs<PublishedLists> lists_;
};

}  // namespace seam::stages
