/// Results of publications (published.csv), and which of them may stand beside a run's.
///
///     a row:   recall  SCCapsNet  inshop  14,218 queries of 3,985 items in 12,612  256x256  32.1
///     ... a run:   the same task, data, counts, size of pictures and mask?   yes: shown   no: not
///     shown
///
/// Source: O. F. Kınlı, "Clothing Image Retrieval with Triplet Capsule Networks", 2019, tables 7 to
/// 12; the size of pictures and the mask of its own models are those of its released code. It does
/// not say which size other people's models were measured with: these rows match no run.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace seam::stages {

/// What a number was measured on and how.
struct MeasuredOn {
  std::string task;                          ///< "recall" or "accuracy"
  std::string data;                          ///< "inshop": which published lists; empty: none
  std::string category;                      ///< empty: all
  std::optional<std::int64_t> queries = {};  ///< images that were asked for, or classified
  std::optional<std::int64_t> items = {};    ///< of the queries
  std::optional<std::int64_t> gallery = {};  ///< images
  std::optional<std::int64_t> classes = {};
  std::optional<std::int64_t> height = {};
  std::optional<std::int64_t> width = {};
  std::string mask;  ///< "none" for models without masks

  friend bool operator==(const MeasuredOn&, const MeasuredOn&) = default;
};

struct PublishedRow {
  std::string tables;  ///< of the source: "7 and 8"
  std::string method;
  MeasuredOn on;
  std::vector<std::pair<std::int64_t, double>> values;  ///< k and percent

  /// The value at k; nothing where none was published.
  [[nodiscard]] std::optional<double> at(std::int64_t k) const;
};

/// Throws seam::Error naming the line that is not as the first line says.
[[nodiscard]] std::vector<PublishedRow> parse_published(std::string_view csv);

/// What published.csv says.
[[nodiscard]] std::string_view published_csv();

/// The rows that were measured on exactly this. A row of which counts, size or mask are not known
/// matches nothing, nor does a run of which they are not.
[[nodiscard]] std::vector<PublishedRow> published_on(const MeasuredOn& on);

/// A table of the rows at these k, in Markdown, under a line that says what they are; empty without
/// rows. `column`: what k is called: "R@" or "top-".
[[nodiscard]] std::string published_table(std::span<const PublishedRow> rows,
                                          std::span<const std::int64_t> ks,
                                          const std::string& column);

/// What the user calls the data: the protocol without a last "/img" and a size. "inshop" of
/// "inshop/img256", but "inshop/cross-colour" of "inshop/cross-colour/img256".
[[nodiscard]] std::string data_of_protocol(std::string_view protocol);

}  // namespace seam::stages
