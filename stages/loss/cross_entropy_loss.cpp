#include "stages/loss/cross_entropy_loss.hpp"

#include <torch/nn/functional/loss.h>
#include <torch/types.h>
#include <seam/error.hpp>

#include <string>

namespace seam::stages {

using torch::Tensor;

Tensor cross_entropy(const Tensor& logits, const Tensor& labels, double smoothing) {
  namespace F = torch::nn::functional;
  return F::cross_entropy(logits, labels, F::CrossEntropyFuncOptions().label_smoothing(smoothing));
}

void check_labels(const std::vector<std::int64_t>& labels, std::int64_t classes,
                  const std::vector<Origin>* origins, LabelWords words) {
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const std::int64_t label = labels[row];
    if (label >= 0 && label < classes) continue;
    const std::string who =
        origins != nullptr ? (*origins)[row].text() : "row " + std::to_string(row);
    if (label < 0) {
      throw Error(who + " has no category (" + std::to_string(label) + "), but " +
                  std::string(words.loss) + " needs one for each image");
    }
    throw Error(who + " has category " + std::to_string(label) + ", but the " +
                std::string(words.scores) + " are for " + std::to_string(classes) +
                " classes, 0 to " + std::to_string(classes - 1) + "; the model needs more classes");
  }
}

}  // namespace seam::stages
