/// Stage `metric.accuracy`: how many images a model classifies correctly.
///
///     logits (or class_lengths), categories ──► [ metric.accuracy ] ──► metrics, report
#pragma once

#include <seam/category_names.hpp>
#include <seam/retrieval.hpp>
#include <seam/tensor.hpp>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "stages/class_vocabulary.hpp"
#include "stages/counted_once.hpp"
#include "stages/metric/top_k.hpp"
#include "stages/published_lists.hpp"

namespace seam::stages {

/// Reports `accuracy@K` for each K, each also as `.standard_error`, `.optimistic` and
/// `.pessimistic`, the bounds over ties; fractions. And `images`, their number.
class Accuracy final : public Compute<Sink> {
 public:
  static constexpr std::string_view name = "metric.accuracy";

  void declare(Declaration& d) override;
  void open(Context& context) override;
  void begin(Context& context) override;
  void process(const Packet& packet, Context& context) override;
  void end(Context& context) override;

 private:
  enum class From : std::uint8_t { logits, class_lengths };

  [[nodiscard]] const Field<Tensor>& field() const;
  void begin_with(std::int64_t classes, const Context& context);
  /// The lists that the images are from.
  [[nodiscard]] std::string data_text() const;
  /// Published results on the same data, images and classes; empty if there are none.
  [[nodiscard]] std::string published(const AccuracyResult& result) const;

  std::vector<std::int64_t> ks_{1};
  From from_ = From::logits;
  bool per_class_ = true;
  std::string protocol_;
  Refs<CategoryNames> names_;
  Refs<ClassVocabulary> models_;
  Refs<PublishedLists> lists_;
  std::optional<TopKCounter> counter_;
  retrieval::InputSize input_;
  CountedOnce pictures_;
  std::set<std::string> list_files_;  ///< that named them
};

/// The accuracy of classes drawn at random at the `k`-th of the result's ks.
[[nodiscard]] double chance_of(const AccuracyResult& result, std::size_t k);
/// "accuracy@1 | 91.20 | ...": the result over all images, in Markdown.
[[nodiscard]] std::string accuracy_table(const AccuracyResult& result);
/// One row per class that has images. `names`: by class number; classes without one are shown as
/// numbers.
[[nodiscard]] std::string class_table(const AccuracyResult& result,
                                      const std::vector<std::string>& names);

}  // namespace seam::stages
