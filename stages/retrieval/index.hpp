/// The stage at the end of a gallery flow: keeps the embeddings that searches look through.
///
///     embedding, items, ... ──► [ retrieval.index ]  ◄── index = "..." of retrieval.search
#pragma once

#include <seam/tensor.hpp>
#include <string_view>
#include <vector>

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
};

/// Declares the parameter `masks`, and the fields that the masks need.
void declare_masks(Declaration& d, std::vector<Mask>& masks);
/// Throws seam::Error where none is named.
void check_masks(const std::vector<Mask>& masks);

/// The packet's embeddings under a mask, f32[N,E]. Throws seam::Error naming the picture whose
/// category has no capsule.
[[nodiscard]] Tensor embedding_under(Mask mask, const Packet& packet);

}  // namespace seam::stages
