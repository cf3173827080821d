/// Results of publications, and which of them may be shown next to a run's.
///
///     a row:   recall  SCCapsNet  inshop  14,218 queries of 3,985 items in 12,612  256x256  32.1
///     ... a run:   same task, data, counts, image size and mask?   yes: shown   no: not
///
/// Source: O. F. Kınlı, "Clothing Image Retrieval with Triplet Capsule Networks", 2019, tables 7 to
/// 12; the image size and the mask of its own models are those of its released code. It does not
/// give the image size of other authors' models, so no run can be compared with them: they are left
/// out.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace seam::stages {

/// The data and protocol of a result. A count or size of 0 is unknown and matches nothing.
struct MeasuredOn {
  std::string task;          ///< "recall" or "accuracy"
  std::string data;          ///< the published lists: "inshop"; empty: none
  std::string category;      ///< empty: all
  std::int64_t queries = 0;  ///< number of query images, or of classified images
  std::int64_t items = 0;    ///< number of items of the queries; not for accuracy
  std::int64_t gallery = 0;  ///< number of images; not for accuracy
  std::int64_t classes = 0;  ///< not for recall
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::string mask;  ///< "none" for models without masks

  friend bool operator==(const MeasuredOn&, const MeasuredOn&) = default;
};

/// A Markdown table of the results with exactly this data and protocol at these k, below a line
/// that describes them; empty if there are none.
[[nodiscard]] std::string published_table(const MeasuredOn& on, std::span<const std::int64_t> ks);

/// The user's name for the data: the protocol without a final "/img" and a size. "inshop" for
/// "inshop/img256", but "inshop/cross-colour" for "inshop/cross-colour/img256".
[[nodiscard]] std::string data_of_protocol(std::string_view protocol);

}  // namespace seam::stages
