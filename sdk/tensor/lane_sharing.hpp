// SPDX-License-Identifier: Apache-2.0
/// How the rows of a batch are divided into lanes (<seam/lanes.hpp>), and how ranks share these out
/// and give the bytes of one process:
///
///     ((0 + 1) + (2 + 3)) + (4 + 5)      6 lanes, added in this tree by one process
///     (0 + 1)   2    3     (4 + 5)       two ranks with three lanes each add these parts, and
///                                        exchange them to be added in the same tree
#pragma once

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "seam/context.hpp"
#include "seam/error.hpp"
#include "seam/field.hpp"
#include "seam/lanes.hpp"
#include "seam/packet.hpp"
#include "seam/ranks.hpp"
#include "seam/tensor.hpp"

namespace seam::detail {

/// Some rows of a batch.
struct LaneRows {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// At most `lanes` lanes of at least `fewest` rows, 2 or more: as even as possible, the larger ones
/// first. Neighbouring rows of a group in which they have roles, such as a triplet, stay together.
[[nodiscard]] inline std::vector<LaneRows> lanes_of(const Packet& packet, std::int64_t rows,
                                                    std::int64_t lanes, std::int64_t fewest) {
  const bool grouped = packet.has(field::groups) && packet.has(field::roles);
  const auto in_group_before = [&](std::int64_t row) {
    if (!grouped) return false;
    const auto at = static_cast<std::size_t>(row);
    const std::vector<std::int64_t>& groups = packet.get(field::groups);
    return groups[at] >= 0 && groups[at] == groups[at - 1] &&
           packet.get(field::roles)[at] != Role::single;
  };
  lanes = std::min(lanes, rows / fewest);
  std::vector<LaneRows> result;
  std::int64_t first = 0;
  for (std::int64_t lane = 1; lane <= lanes; ++lane) {
    std::int64_t end = lane * (rows / lanes) + std::min(lane, rows % lanes);
    if (end <= first) continue;
    while (end < rows && (in_group_before(end) || end - first == 1 || rows - end == 1)) ++end;
    result.push_back({first, end - first});
    first = end;
  }
  return result;
}

// Tensors as bytes that ranks exchange. Only ranks of one program and one byte order meet.

/// The values in the order of the memory, without holes, on the CPU.
[[nodiscard]] inline torch::Tensor dense_values(const torch::Tensor& tensor) {
  const torch::Tensor here = tensor.detach().cpu();
  return here.is_non_overlapping_and_dense() ? here : here.clone();
}

class ByteWriter {
 public:
  void number(std::int64_t value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(std::string_view text) {
    number(static_cast<std::int64_t>(text.size()));
    bytes_.append(text);
  }
  /// With its strides, which decide how later operations compute with it. May be undefined.
  void tensor(const torch::Tensor& tensor) {
    number(tensor.defined() ? static_cast<std::int64_t>(tensor.scalar_type()) : -1);
    if (!tensor.defined()) return;
    const torch::Tensor dense = dense_values(tensor);
    number(dense.dim());
    for (const std::int64_t size : dense.sizes()) number(size);
    for (const std::int64_t stride : dense.strides()) number(stride);
    bytes_.append(static_cast<const char*>(dense.data_ptr()), dense.nbytes());
  }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// Reads what a ByteWriter of another rank has written, in the same order. Throws seam::Error
/// (internal) if the bytes end before.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] std::int64_t number() {
    std::int64_t value = 0;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  [[nodiscard]] bool is_at_end() const { return bytes_.empty(); }
  [[nodiscard]] std::string_view text() { return take(static_cast<std::size_t>(number())); }
  [[nodiscard]] torch::Tensor tensor(const torch::Device& device) {
    const std::int64_t type = number();
    if (type < 0) return {};
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(number()));
    std::vector<std::int64_t> strides(sizes.size());
    for (std::int64_t& size : sizes) size = number();
    for (std::int64_t& stride : strides) stride = number();
    torch::Tensor tensor =
        at::empty_strided(sizes, strides, at::TensorOptions(static_cast<at::ScalarType>(type)));
    const std::string_view values = take(tensor.nbytes());
    if (!values.empty()) std::memcpy(tensor.data_ptr(), values.data(), values.size());
    return tensor.to(device);
  }

 private:
  [[nodiscard]] std::string_view take(std::size_t count) {
    if (count > bytes_.size()) throw Error("a rank sent too few bytes", Fault::internal);
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }

  std::string_view bytes_;
};

/// A checksum of values, at the speed of memory.
class Checksum {
 public:
  void add(const torch::Tensor& tensor) {
    if (!tensor.defined()) return mix(0, 1);
    const torch::Tensor values = dense_values(tensor);
    add_bytes(values.data_ptr(), values.nbytes());
  }
  void add(const std::vector<std::int64_t>& numbers) {
    add_bytes(numbers.data(), numbers.size() * sizeof(std::int64_t));
  }

  [[nodiscard]] std::string text() const {
    std::uint64_t all = 0;
    for (const std::uint64_t sum : sums_) all = std::rotl(all, 17) * factor ^ sum;
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (int shift = 60; shift >= 0; shift -= 4) text += digits[(all >> shift) & 15U];
    return text;
  }

 private:
  static constexpr std::uint64_t factor = 0x9E3779B97F4A7C15;  // odd, so that no value is lost

  void add_bytes(const void* data, std::size_t count) {
    const auto* const bytes = static_cast<const char*>(data);
    constexpr std::size_t word = sizeof(std::uint64_t);
    constexpr std::size_t lane_count = 4;  // independent, so that multiplications overlap
    std::size_t at = 0;
    for (; at + lane_count * word <= count; at += lane_count * word) {
      for (std::size_t lane = 0; lane < lane_count; ++lane) {
        std::uint64_t read = 0;
        std::memcpy(&read, bytes + at + lane * word, word);
        mix(lane, read);
      }
    }
    for (; at < count; ++at) mix(0, static_cast<unsigned char>(bytes[at]));
    mix(1, count);
  }
  void mix(std::size_t lane, std::uint64_t value) {
    sums_[lane] = std::rotl(sums_[lane] ^ value, 29) * factor;
  }

  std::array<std::uint64_t, 4> sums_{1, 2, 3, 4};
};

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
        for (const Tensor& sum : own_sums[part]) {
          pieces[part].push_back(piece_of(sum, rank, world));
        }
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
