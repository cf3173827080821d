/// Cross entropy of logits and labels, and labels that fit logits.
#pragma once

#include <torch/types.h>
#include <seam/origin.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace seam::stages {

/// The mean over rows of the cross entropy between softmax(logits) and targets that are 1 - s at
/// the label plus s / K everywhere (Szegedy et al., "Rethinking the Inception Architecture", CVPR
/// 2016, section 7). `logits` is [N,K], `labels` i64[N].
[[nodiscard]] torch::Tensor cross_entropy(const torch::Tensor& logits, const torch::Tensor& labels,
                                          double smoothing);

/// Words for messages: the loss that needs labels, and the values that exist once per class.
struct LabelWords {
  std::string_view loss = "cross entropy";
  std::string_view scores = "logits";
};

/// Throws seam::Error naming the first row (by its origin, if known) whose label is not one of
/// `classes`.
void check_labels(const std::vector<std::int64_t>& labels, std::int64_t classes,
                  const std::vector<Origin>* origins, LabelWords words = {});

}  // namespace seam::stages
