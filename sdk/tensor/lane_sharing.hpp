// SPDX-License-Identifier: Apache-2.0
/// How ranks share out the lanes of a batch (<seam/lanes.hpp>) and give the bytes of one process:
///
///     ((0 + 1) + (2 + 3)) + (4 + 5)      6 lanes, added in this tree by one process
///     (0 + 1)   2    3     (4 + 5)       two ranks with three lanes each add these parts, and
///                                        exchange them to be added in the same tree
#pragma once

#include <torch/types.h>
#include <torch/utils.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "seam/context.hpp"
#include "seam/error.hpp"
#include "seam/lanes.hpp"
#include "seam/ranks.hpp"
#include "seam/tensor.hpp"

#include "sdk/tensor/lane_bytes.hpp"

namespace seam::detail {

/// The sums of two lists of tensors. Undefined tensors are zeros.
[[nodiscard]] inline Tensors added(Tensors sum, const Tensors& right) {
  for (std::size_t at = 0; at < sum.size(); ++at) {
    if (right[at].defined()) sum[at] = sum[at].defined() ? sum[at] + right[at] : right[at];
  }
  return sum;
}

/// terms(first) + ... + terms(first + count - 1), each a list of tensors, computed in this order
/// and added in a binary tree: ((0 + 1) + (2 + 3)) + (4 + 5).
template <class Terms>
[[nodiscard]] Tensors tree_sum(std::size_t count, const Terms& terms, std::size_t first = 0) {
  if (count == 1) return terms(first);
  const std::size_t left = std::bit_ceil(count) / 2;
  Tensors sum = tree_sum(left, terms, first);
  return added(std::move(sum), tree_sum(count - left, terms, first + left));
}

/// The same tree, computed by all ranks: each adds its own terms, which are those from
/// rank * count / world on. There are at least as many terms as ranks.
class SharedTree {
 public:
  /// Neighbouring terms of one rank that the tree adds to each other before any others.
  struct Part {
    std::size_t first = 0;
    std::size_t count = 0;
    std::size_t rank = 0;
  };

  SharedTree(std::size_t count, std::size_t world) : count_(count), world_(world) { cut(0, count); }

  [[nodiscard]] std::size_t rank_of(std::size_t term) const {
    return ((term + 1) * world_ - 1) / count_;
  }
  /// As large as possible, in the order of their terms.
  [[nodiscard]] const std::vector<Part>& parts() const { return parts_; }
  /// The sum of all terms, from those of the parts.
  [[nodiscard]] Tensors sum(std::vector<Tensors> of_parts) const {
    auto next = of_parts.begin();
    return sum(0, count_, next);
  }

 private:
  [[nodiscard]] bool is_part(std::size_t first, std::size_t count) const {
    return rank_of(first) == rank_of(first + count - 1);
  }
  void cut(std::size_t first, std::size_t count) {
    if (is_part(first, count)) return parts_.push_back({first, count, rank_of(first)});
    const std::size_t left = std::bit_ceil(count) / 2;
    cut(first, left);
    cut(first + left, count - left);
  }
  [[nodiscard]] Tensors sum(std::size_t first, std::size_t count,
                            std::vector<Tensors>::iterator& next) const {
    if (is_part(first, count)) return std::move(*next++);
    const std::size_t left = std::bit_ceil(count) / 2;
    Tensors sum_of_left = sum(first, left, next);
    return added(std::move(sum_of_left), sum(first + left, count - left, next));
  }

  std::size_t count_;
  std::size_t world_;
  std::vector<Part> parts_;
};

/// A batch's lanes among the ranks, and what they exchange. Ranks have neighbouring lanes; with
/// fewer lanes than ranks, as in a small last batch, each of them computes all.
class LaneSharing {
 public:
  /// `ranks`: null if there are no others; outlives this object.
  LaneSharing(std::size_t lanes, Ranks* ranks)
      : lanes_(lanes),
        ranks_(ranks == nullptr || lanes < static_cast<std::size_t>(ranks->world()) ? nullptr
                                                                                    : ranks),
        rank_(ranks_ == nullptr ? 0 : static_cast<std::size_t>(ranks_->rank())),
        tree_(lanes, ranks_ == nullptr ? 1 : static_cast<std::size_t>(ranks_->world())) {}

  [[nodiscard]] bool has_others() const { return ranks_ != nullptr; }
  [[nodiscard]] std::size_t first_own_lane() const {
    std::size_t lane = 0;
    while (tree_.rank_of(lane) != rank_) ++lane;
    return lane;
  }
  [[nodiscard]] std::size_t rank_of_last_lane() const { return tree_.rank_of(lanes_ - 1); }

  /// By part of the tree; empty for those of other ranks.
  template <class Terms>
  [[nodiscard]] std::vector<Tensors> own_sums(const Terms& terms) const {
    std::vector<Tensors> sums;
    for (const SharedTree::Part& part : tree_.parts()) {
      sums.push_back(part.rank == rank_ ? tree_sum(part.count, terms, part.first) : Tensors());
    }
    return sums;
  }
  /// Of all lanes, if this rank has the sums of all parts.
  [[nodiscard]] Tensors sum(std::vector<Tensors> of_parts) const {
    return tree_.sum(std::move(of_parts));
  }
  /// Of all lanes, from own_sums(). Each rank adds a piece of every tensor, so that the bytes it
  /// receives hardly depend on the number of ranks: less than twice those of the sum if each rank
  /// has the same power of two of lanes. All terms have the memory layout of `like`.
  [[nodiscard]] Tensors sum_in_pieces(const std::string& what, std::vector<Tensors> own_sums,
                                      const Tensors& like) const {
    if (ranks_ == nullptr) return tree_.sum(std::move(own_sums));
    const torch::NoGradGuard no_gradient;
    const auto world = static_cast<std::size_t>(ranks_->world());
    std::vector<std::string> for_each;
    for (std::size_t rank = 0; rank < world; ++rank) {
      ByteWriter bytes;
      std::vector<Tensors> pieces(own_sums.size());
      for (std::size_t part = 0; part < own_sums.size(); ++part) {
        for (const Tensor& sum : own_sums[part]) pieces[part].push_back(piece_of(sum, rank, world));
      }
      write_sums(bytes, pieces);
      for_each.push_back(bytes.bytes());
    }
    const std::vector<std::string> pieces = ranks_->all_to_all("pieces of the " + what, for_each);
    std::vector<Tensors> of_parts(own_sums.size());
    for (std::size_t rank = 0; rank < world; ++rank) {
      ByteReader reader(pieces[rank]);
      read_sums(reader, rank, torch::kCPU, of_parts, like.size());
    }
    ByteWriter own;
    write(own, tree_.sum(std::move(of_parts)));
    const std::vector<std::string> all = ranks_->all_gather("sums of the " + what, own.bytes());
    Tensors sums(like.size());
    for (std::size_t rank = 0; rank < world; ++rank) {
      ByteReader reader(all[rank]);
      for (std::size_t at = 0; at < like.size(); ++at) {
        const Tensor piece = reader.tensor(torch::kCPU);
        if (!piece.defined()) continue;
        if (!sums[at].defined()) sums[at] = at::empty_like(like[at]);
        piece_of(sums[at], rank, world).copy_(piece);
      }
    }
    return sums;
  }

  /// The lists of this rank's lanes, or its sums.
  void write_lanes(ByteWriter& bytes, const std::vector<Tensors>& of_lanes) const {
    for (std::size_t lane = 0; lane < lanes_; ++lane) {
      if (tree_.rank_of(lane) == rank_) write(bytes, of_lanes[lane]);
    }
  }
  void write_sums(ByteWriter& bytes, const std::vector<Tensors>& sums) const {
    for (std::size_t part = 0; part < sums.size(); ++part) {
      if (tree_.parts()[part].rank == rank_) write(bytes, sums[part]);
    }
  }
  /// What another rank wrote: lists with `count` tensors each.
  void read_lanes(ByteReader& bytes, std::size_t rank, const torch::Device& device,
                  std::vector<Tensors>& of_lanes, std::size_t count) const {
    for (std::size_t lane = 0; lane < lanes_; ++lane) {
      if (tree_.rank_of(lane) == rank) of_lanes[lane] = read(bytes, device, count);
    }
  }
  void read_sums(ByteReader& bytes, std::size_t rank, const torch::Device& device,
                 std::vector<Tensors>& sums, std::size_t count) const {
    for (std::size_t part = 0; part < sums.size(); ++part) {
      if (tree_.parts()[part].rank == rank) sums[part] = read(bytes, device, count);
    }
  }

  /// Does this rank's work and, if there are others, exchanges what it writes. The first lane that
  /// drops the packet or fails does so on all ranks. `what` is the same on all ranks.
  template <class Work, class Write, class Read>
  void share(const std::string& what, Context& context, const Work& work, const Write& write,
             const Read& read) const {
    if (ranks_ == nullptr) return work();
    ByteWriter bytes;
    std::exception_ptr failure;
    try {
      work();
      bytes.number(context.dropped() ? dropped : computed);
      if (context.dropped()) {
        bytes.text(context.drop_reason());
      } else {
        write(bytes);
      }
    } catch (const std::exception&) {
      failure = std::current_exception();
      const Error error = caught_error();
      bytes = {};
      bytes.number(failed);
      bytes.number(static_cast<std::int64_t>(error.fault()));
      bytes.text(error.full_message());
    }
    const std::vector<std::string> all = ranks_->all_gather(what, bytes.bytes());
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      ByteReader reader(all[rank]);
      const std::int64_t end = reader.number();
      if (end == failed) {
        if (rank == rank_) std::rethrow_exception(failure);
        const auto fault = static_cast<Fault>(reader.number());
        throw Error("rank " + std::to_string(rank) + ": " + std::string(reader.text()), fault);
      }
      if (end == dropped) return context.drop(std::string(reader.text()));
    }
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      ByteReader reader(all[rank]);
      (void)reader.number();
      if (rank == rank_) continue;
      read(reader, rank);
      if (!reader.is_at_end()) throw Error("a rank sent too many bytes", Fault::internal);
    }
  }

 private:
  static void write(ByteWriter& bytes, const Tensors& list) {
    for (const Tensor& tensor : list) bytes.tensor(tensor);
  }
  [[nodiscard]] static Tensors read(ByteReader& bytes, const torch::Device& device,
                                    std::size_t count) {
    Tensors list;
    while (list.size() < count) list.push_back(bytes.tensor(device));
    return list;
  }

  /// The values of a dense tensor that a rank adds, in the order of the memory.
  [[nodiscard]] static Tensor piece_of(const Tensor& tensor, std::size_t rank, std::size_t world) {
    if (!tensor.defined()) return {};
    const auto place = [&](std::size_t of_rank) {
      return tensor.numel() * static_cast<std::int64_t>(of_rank) / static_cast<std::int64_t>(world);
    };
    return tensor.as_strided({tensor.numel()}, {1}).slice(0, place(rank), place(rank + 1));
  }

  /// How a rank's work ended: the first number that it sends.
  static constexpr std::int64_t computed = 0;
  static constexpr std::int64_t dropped = 1;
  static constexpr std::int64_t failed = 2;

  std::size_t lanes_;
  Ranks* ranks_;
  std::size_t rank_;
  SharedTree tree_;
};

}  // namespace seam::detail
