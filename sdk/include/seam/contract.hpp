// SPDX-License-Identifier: Apache-2.0
/// The contract of a tensor field as text: element type and named or fixed dimensions.
///
///     f32[N,3,H,W]      N, H, W: any size     3: exactly three
///     i64[N]            f32[] a scalar        *[N,...] any type, any further dimensions
///     *[N,20+]          20+: twenty or more
///
/// A dimension name other than N stands for the same size in all contracts of a stage. A stage that
/// needs u8[H,W,3] and provides f32[N,3,H,W] thereby keeps the image size, which is 32 x 32 after a
/// stage that provides u8[32,32,3]. Use different names for sizes that the stage changes: h, w.
///
/// The host compares the contracts of providers and users along every path before anything runs;
/// the tensor wrapper compares real tensors with them while it runs. No LibTorch is needed here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "seam/export.hpp"

namespace seam {

/// The dimension for a parameter that may be omitted: its number, or its name as long as it is 0.
/// See ParameterBuilder::from_field.
inline std::string dimension_of(std::int64_t size, std::string_view parameter) {
  return size > 0 ? std::to_string(size) : std::string(parameter);
}

class SEAM_EXPORT TensorContract {
 public:
  /// Parses the text form. Throws seam::Error (Fault::internal) with the text and the position.
  static TensorContract parse(std::string_view text);

  /// "f32", "i64", ..., or "*" for any.
  [[nodiscard]] const std::string& element() const { return element_; }
  /// One string per dimension: a number, a number with "+" (at least), or a name.
  [[nodiscard]] const std::vector<std::string>& dimensions() const { return dimensions_; }
  /// Whether the contract ends in "...": more dimensions may follow.
  [[nodiscard]] bool open_ended() const { return open_ended_; }

  /// Returns a description of the first mismatch between `provided` and `needed` ("dimension 1 is
  /// 1, not 3"), or nullopt if they are compatible or their fixed parts do not contradict each
  /// other.
  static std::optional<std::string> first_difference(const TensorContract& provided,
                                                     const TensorContract& needed);

  /// The same for a real tensor of element type `element` and sizes `sizes`. Dimensions with the
  /// same name must have the same size.
  [[nodiscard]] std::optional<std::string> first_violation(
      std::string_view element, const std::vector<std::int64_t>& sizes) const;

 private:
  std::string element_;
  std::vector<std::string> dimensions_;
  bool open_ended_ = false;
};

}  // namespace seam
