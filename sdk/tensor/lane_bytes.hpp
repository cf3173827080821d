// SPDX-License-Identifier: Apache-2.0
/// Tensors as bytes that ranks exchange (<seam/ranks.hpp>), and the checksum by which they notice
/// that they compute different things. Only ranks of one program and one byte order meet.
#pragma once

#include <torch/types.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "seam/error.hpp"

namespace seam::detail {

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

}  // namespace seam::detail
