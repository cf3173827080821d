/// The input that index and search read from a batch: the parameter `masks`, and the embeddings
/// under each mask.
#pragma once

#include <torch/types.h>
#include <seam/gallery.hpp>
#include <seam/retrieval.hpp>
#include <seam/tensor.hpp>

namespace seam::stages {

using retrieval::Mask;

/// Declares the parameter `masks`, and the batch fields that the masks need.
void declare_masks(Declaration& d, std::vector<Mask>& masks);
/// Throws seam::Error if the list is empty or has a mask twice.
void check_masks(const std::vector<Mask>& masks);

/// For open() of a searching stage: throws seam::Error (configuration) naming a mask without
/// vectors in the gallery.
void require_indexed(const retrieval::Gallery& gallery, const std::vector<Mask>& masks);
/// For begin() of a searching stage: throws seam::Error (configuration) if the gallery has not been
/// filled yet.
void require_ready(const retrieval::Gallery& gallery);

/// The number of images in the batch. Throws seam::Error naming two fields and their counts if
/// fields that these masks need have different numbers of rows.
[[nodiscard]] std::int64_t images_in(const Packet& packet, const std::vector<Mask>& masks);

/// The batch's embeddings under a mask, f32[N,E] on the CPU, from any device and precision. Throws
/// seam::Error naming a field with a wrong shape or type, or an image whose category has no capsule
/// or whose embedding is zero.
[[nodiscard]] Tensor embedding_under(Mask mask, const Packet& packet);

/// The size of the batch's images, if the packet still has them.
[[nodiscard]] retrieval::InputSize input_of(const Packet& packet);

/// Embeddings with one class capsule kept and the others set to zero.
///
///     capsules [N,K,D]      category [N]        embedding [N, K*D]
///     ▓▓ ▓▓ ▓▓ ▓▓       +   2               =   ░░ ░░ ▓▓ ░░
///
/// The squared distance of images of different categories is then exactly 2, and that of images of
/// one category 2 - 2 cos. The choice of the category determines what an evaluation measures: see
/// retrieval::Mask.
///
/// `capsules`: f32[N,K,D]; `category`: i64[N], each from 0 to K - 1. Returns f32[N,K*D] that shares
/// no memory with its inputs. Throws seam::Error for wrong shapes, and for a category out of range,
/// naming its row.
[[nodiscard]] torch::Tensor masked_embedding(const torch::Tensor& capsules,
                                             const torch::Tensor& category);

}  // namespace seam::stages
