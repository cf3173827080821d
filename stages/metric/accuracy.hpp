/// Stage `metric.accuracy`: how many images a model classifies correctly.
///
///     logits (or class_lengths), categories ──► [ metric.accuracy ] ──► metrics, report
#pragma once

#include <seam/category_names.hpp>
#include <seam/retrieval.hpp>
#include <seam/tensor.hpp>

#include "stages/class_vocabulary.hpp"
#include "stages/counted_once.hpp"
#include "stages/picture_paths.hpp"
#include "stages/published_lists.hpp"

namespace seam::stages {

// Top-k accuracy over scored images, for all of them and per class.
//
//     scores 0.1 0.7 0.2, label 2 ──► rank 1 (from 0): a hit for k = 2, not for k = 1
//
// Equal scores are ranked by class number; two bounds give the accuracy with all ties ranked
// favourably or unfavourably, so that a model that scores all classes alike does not get 100 %.

/// Fractions from 0 to 1; vectors are as long as `ks`.
struct ClassAccuracy {
  std::int64_t images = 0;
  std::vector<double> accuracy;      ///< zeros for a class without images
  std::int64_t most_taken_for = -1;  ///< the other class that is predicted most often; -1: none
  std::int64_t taken_for_it = 0;     ///< how often
};

struct AccuracyResult {
  std::vector<std::int64_t> ks;
  std::int64_t images = 0;
  std::vector<double> accuracy;
  std::vector<double> optimistic;
  std::vector<double> pessimistic;
  std::vector<double> standard_error;  ///< binomial: images are treated as independent
  std::vector<ClassAccuracy> by_class;
};

/// Both ends of an interval.
struct Interval {
  double low = 0;
  double high = 1;
};

/// The 95 % confidence interval of a fraction (E. B. Wilson, "Probable inference, the law of
/// succession, and statistical inference", JASA 1927): also correct near 0 and 1.
[[nodiscard]] Interval wilson_interval(double share, std::int64_t of);

class TopKCounter {
 public:
  /// Sorts `ks` and removes duplicates. Throws seam::Error if one is below 1, there is none, or the
  /// largest is not below the number of classes: accuracy would be 100 % whatever a model does.
  TopKCounter(std::vector<std::int64_t> ks, std::int64_t classes);

  [[nodiscard]] std::int64_t classes() const { return classes_; }

  /// Throws seam::Error, which does not name the image, for scores with a different number of
  /// classes, for NaN among them, and for a label that is not a class.
  void add(std::span<const float> scores, std::int64_t label);

  /// Throws seam::Error if there was no image.
  [[nodiscard]] AccuracyResult result() const;

 private:
  struct Hits {
    std::int64_t images = 0;
    std::vector<std::int64_t> hits;
    std::vector<std::int64_t> predicted;  ///< how often each class was predicted
  };

  std::vector<std::int64_t> ks_;
  std::int64_t classes_;
  std::vector<Hits> of_class_;
  std::vector<std::int64_t> optimistic_;
  std::vector<std::int64_t> pessimistic_;
};

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
