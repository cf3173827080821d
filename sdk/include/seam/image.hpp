// SPDX-License-Identifier: Apache-2.0
/// An 8-bit image that many owners may share.
///
///     data ──► row 0: | R G B | R G B | ...    height x width x channels, rows packed
///              row 1: | ...
///
/// Copying an Image copies a handle, not the pixels. Shared pixels are read-only by convention:
/// a stage that changes pixels creates a new Image or a clone(). No library is needed to use this
/// header; <seam/opencv.hpp> and <seam/tensor.hpp> view the same memory as cv::Mat and
/// torch::Tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "seam/export.hpp"

namespace seam {

class SEAM_EXPORT Image {
 public:
  /// The empty image: 0 x 0 x 0.
  Image() = default;

  /// Allocates uninitialised pixels. Throws std::invalid_argument if a side is negative or the
  /// number of channels is not 1, 3 or 4.
  Image(int height, int width, int channels);

  /// Wraps memory that `owner` keeps alive; rows must be packed.
  Image(int height, int width, int channels, std::shared_ptr<std::uint8_t> owner);

  /// Returns a copy of the pixels, which may be changed. The clone of an empty image is empty.
  [[nodiscard]] Image clone() const;

  [[nodiscard]] int height() const { return height_; }
  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] int channels() const { return channels_; }
  [[nodiscard]] bool empty() const { return pixels_ == nullptr; }
  [[nodiscard]] std::size_t bytes() const {
    return static_cast<std::size_t>(height_) * static_cast<std::size_t>(width_) *
           static_cast<std::size_t>(channels_);
  }
  [[nodiscard]] std::size_t row_bytes() const {
    return static_cast<std::size_t>(width_) * static_cast<std::size_t>(channels_);
  }

  [[nodiscard]] const std::uint8_t* data() const { return pixels_.get(); }
  /// Write access, only for the code that has just created or cloned the image.
  [[nodiscard]] std::uint8_t* data() { return pixels_.get(); }
  [[nodiscard]] std::span<const std::uint8_t> pixels() const { return {data(), bytes()}; }
  [[nodiscard]] const std::uint8_t* row(int y) const {
    return data() + row_bytes() * static_cast<std::size_t>(y);
  }
  [[nodiscard]] std::uint8_t* row(int y) {
    return data() + row_bytes() * static_cast<std::size_t>(y);
  }
  /// The owning handle, for views that must keep the pixels alive.
  [[nodiscard]] const std::shared_ptr<std::uint8_t>& owner() const { return pixels_; }

  /// Same size and same bytes.
  SEAM_EXPORT friend bool operator==(const Image& a, const Image& b);

 private:
  int height_ = 0;
  int width_ = 0;
  int channels_ = 0;
  std::shared_ptr<std::uint8_t> pixels_;
};

}  // namespace seam
