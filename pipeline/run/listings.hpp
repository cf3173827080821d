/// The lists of a run's data sets. Parameters name few of the files that determine them, so the
/// stages report digests.
///
///     data set ── Listing ──► checkpoint's metadata ──► resume: rejected if it has changed
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pipeline/config/load.hpp"

namespace seam::host {

/// Digests by stage.
using Listings = std::map<std::string, std::uint64_t>;

/// The key of their text in a checkpoint's metadata.
inline const std::string listings_key = "seam.run.listings";

/// Of the stages that offer seam::Listing; they must be open.
[[nodiscard]] Listings listings_of(const CheckedPipeline& pipeline,
                                   const std::vector<std::string>& opened);

/// As a value of the metadata: {"items":"00c0ffee00c0ffee"}.
[[nodiscard]] std::string text_of(const Listings& listings);
/// Parses such a text. Throws seam::Error if it is invalid.
[[nodiscard]] Listings listings_from(const std::string& text);

}  // namespace seam::host
