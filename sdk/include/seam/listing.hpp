// SPDX-License-Identifier: Apache-2.0
/// The list of a data set, so that a resumed run notices a change: one more image in a folder
/// shifts all that follow, and no parameter names the file.
///
///     class MyFolder final : public seam::Source, public seam::Listing {
///       void declare(seam::Declaration& d) override {
///         ...
///         d.offers<seam::Listing>(*this);
///       }
///     };
#pragma once

#include <cstdint>

namespace seam {

class Listing {
 public:
  virtual ~Listing() = default;

  /// Of what is listed and of its order; without the contents of images, and not of the part that
  /// folds or a limit select. Available after open(). seam::stream_of() hashes texts.
  [[nodiscard]] virtual std::uint64_t listing_digest() const = 0;
};

}  // namespace seam
