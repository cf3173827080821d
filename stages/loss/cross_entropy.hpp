/// Stage `loss.cross_entropy`: classification by category.
#pragma once

#include <seam/loss.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace seam::stages {

class CrossEntropy final : public Loss {
 public:
  static constexpr std::string_view name = "loss.cross_entropy";

  /// The field whose values are taken for logits.
  enum class From : std::uint8_t { logits, class_lengths };

  void declare(Declaration& d) override;

 private:
  Tensor compute(const Packet& packet, Context& context) override;
  [[nodiscard]] const Field<Tensor>& field() const;

  From from_ = From::logits;
  double smoothing_ = 0;
  double temperature_ = 1;
};

/// The mean over rows of the cross entropy between softmax(logits) and targets that are 1 - s at
/// the label plus s / K everywhere (Szegedy et al., "Rethinking the Inception Architecture", CVPR
/// 2016, section 7). `logits` is [N,K], `labels` i64[N].
[[nodiscard]] Tensor cross_entropy(const Tensor& logits, const Tensor& labels, double smoothing);

/// How a message calls what needs labels, and what there is one of for each class.
struct LabelWords {
  std::string_view loss = "cross entropy";
  std::string_view scores = "logits";
};

/// Throws seam::Error naming the first row, by its origin where there are origins, whose label is
/// not one of `classes`.
void check_labels(const std::vector<std::int64_t>& labels, std::int64_t classes,
                  const std::vector<Origin>* origins, LabelWords words = {});

}  // namespace seam::stages
