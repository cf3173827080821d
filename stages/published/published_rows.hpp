/// Results of publications (published.csv), and which of them may be shown next to a run's.
///
///     a row:   recall  SCCapsNet  inshop  14,218 queries of 3,985 items in 12,612  256x256  32.1
///     ... a run:   same task, data, counts, image size and mask?   yes: shown   no: not
///
/// Source: O. F. Kınlı, "Clothing Image Retrieval with Triplet Capsule Networks", 2019, tables 7 to
/// 12; the image size and the mask of its own models are those of its released code. It does not
/// give the image size of other authors' models: these rows match no run.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace seam::stages {

/// The data and protocol of a result.
struct MeasuredOn {
  std::string task;                          ///< "recall" or "accuracy"
  std::string data;                          ///< the published lists: "inshop"; empty: none
  std::string category;                      ///< empty: all
  std::optional<std::int64_t> queries = {};  ///< number of query images, or of classified images
  std::optional<std::int64_t> items = {};    ///< number of items of the queries
  std::optional<std::int64_t> gallery = {};  ///< number of images
  std::optional<std::int64_t> classes = {};
  std::optional<std::int64_t> height = {};
  std::optional<std::int64_t> width = {};
  std::string mask;  ///< "none" for models without masks

  friend bool operator==(const MeasuredOn&, const MeasuredOn&) = default;
};

struct PublishedRow {
  std::string tables;  ///< in the source: "7 and 8"
  std::string method;
  MeasuredOn on;
  std::vector<std::pair<std::int64_t, double>> values;  ///< k and percent

  /// The value at k, or nullopt if none was published.
  [[nodiscard]] std::optional<double> at(std::int64_t k) const;
};

/// Throws seam::Error naming a line that does not match the header.
[[nodiscard]] std::vector<PublishedRow> parse_published(std::string_view csv);

/// The content of published.csv.
[[nodiscard]] std::string_view published_csv();

/// The rows with exactly this data and protocol. Rows and runs with unknown counts, size or mask
/// match nothing.
[[nodiscard]] std::vector<PublishedRow> published_on(const MeasuredOn& on);

/// A Markdown table of the rows at these k, below a line that describes them; empty without rows.
/// `column`: prefix of k: "R@" or "top-".
[[nodiscard]] std::string published_table(std::span<const PublishedRow> rows,
                                          std::span<const std::int64_t> ks,
                                          const std::string& column);

/// The user's name for the data: the protocol without a final "/img" and a size. "inshop" for
/// "inshop/img256", but "inshop/cross-colour" for "inshop/cross-colour/img256".
[[nodiscard]] std::string data_of_protocol(std::string_view protocol);

}  // namespace seam::stages
