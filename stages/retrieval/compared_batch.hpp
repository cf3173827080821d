/// What the index and the search read of a batch: the parameter `masks`, and the embeddings under
/// each.
#pragma once

#include <cstdint>
#include <seam/gallery.hpp>
#include <seam/retrieval.hpp>
#include <seam/tensor.hpp>
#include <vector>

namespace seam::stages {

/// Declares the parameter `masks`, and the fields of a batch that are read with them.
void declare_masks(Declaration& d, std::vector<retrieval::Mask>& masks);
/// Throws seam::Error where none is named, or one twice.
void check_masks(const std::vector<retrieval::Mask>& masks);

/// In open() of a stage that searches: throws seam::Error (configuration) naming a mask under which
/// the gallery will have no vectors.
void require_indexed(const retrieval::Gallery& gallery, const std::vector<retrieval::Mask>& masks);
/// In begin() of a stage that searches: throws seam::Error (configuration) where the gallery has
/// not been filled yet.
void require_ready(const retrieval::Gallery& gallery);

/// How many images the batch has. Throws seam::Error naming two fields and their counts where
/// fields that are read with these masks have different numbers of rows.
[[nodiscard]] std::int64_t images_in(const Packet& packet,
                                     const std::vector<retrieval::Mask>& masks);

/// The batch's embeddings under a mask, f32[N,E] on the CPU, wherever and in whatever precision the
/// model left them. Throws seam::Error naming the field that has another shape or type, and the
/// picture whose category has no capsule or whose embedding is zero.
[[nodiscard]] Tensor embedding_under(retrieval::Mask mask, const Packet& packet);

/// The size of the batch's pictures, where the packet still has them.
[[nodiscard]] retrieval::InputSize input_of(const Packet& packet);

}  // namespace seam::stages
