#include "stages/nn/routing_statistics.hpp"

#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "stages/nn/fixed_parts.hpp"
#include "stages/nn/squash.hpp"

namespace seam::nn {
namespace {

using torch::Tensor;

constexpr std::int64_t images_measured = 8;
constexpr double saturated_length = 0.9;
constexpr double dead_share = 0.01;

Tensor lengths_of(const Tensor& capsules) {
  return capsules.square().sum(-1).sqrt();
}

double mean_of(const Tensor& values) {
  return values.to(torch::kFloat64).mean().item<double>();
}

/// Mean along the last dimension; vectors without a direction count as equal.
double mean_cosine(const Tensor& a, const Tensor& b) {
  const Tensor product = lengths_of(a) * lengths_of(b);
  const Tensor cosine = (a * b).sum(-1) / product;
  return mean_of(torch::where(product == 0, torch::ones_like(cosine), cosine));
}

bool limits_lengths(SquashForm form) {
  return form == SquashForm::epsilon_in_root || form == SquashForm::epsilon_after_root;
}

std::int64_t image_softmax_dimension(const RoutingOptions& options) {
  return options.softmax == RoutingSoftmax::classes ? 1 : 0;
}

/// Class capsules [K,O] and couplings [N,K] of an image.
struct RoutedImage {
  Tensor capsules;
  Tensor couplings;
};

/// Procedure 1 of Sabour et al. as it is written, from the predictions [N,K,O].
RoutedImage routed_image(const Tensor& predictions, const RoutingOptions& options,
                         std::int64_t iterations) {
  const bool cosine = options.agreement == Agreement::cosine;
  Tensor logits = torch::zeros({predictions.size(0), predictions.size(1)}, predictions.options());
  for (std::int64_t t = 1;; ++t) {
    const Tensor couplings = torch::softmax(logits, image_softmax_dimension(options));
    const Tensor sums = (couplings.unsqueeze(2) * predictions).sum(0);
    const Tensor capsules = squash_reference(sums, options.squash, options.epsilon);
    if (t == iterations) return {capsules, couplings};
    const Tensor& parents = cosine ? sums : capsules;
    Tensor agreement = (predictions * parents).sum(2);
    if (cosine) {
      const Tensor product = lengths_of(predictions) * lengths_of(parents);
      agreement = options.factor * agreement / torch::clamp_min(product, 1e-12);
    }
    logits = options.logits == Logits::replace ? agreement : logits + agreement;
  }
}

double relative_entropy(const Tensor& couplings, const RoutingOptions& options) {
  const std::int64_t choices = couplings.size(image_softmax_dimension(options));
  if (choices < 2) return 1;
  const Tensor entropy = -torch::xlogy(couplings, couplings).sum(image_softmax_dimension(options));
  return mean_of(entropy) / std::log(static_cast<double>(choices));
}

struct OfImage {
  double entropy = 0;
  double cosine = 0;
  double saturated = 0;
  Tensor lengths;  // [K]
};

/// Of u [N,D].
OfImage of_image(const Tensor& u, const Tensor& weight, std::int64_t classes,
                 const RoutingOptions& options) {
  const Tensor predictions =
      u.unsqueeze(1).matmul(weight).view({u.size(0), classes, -1});  // own or shared weights
  const RoutedImage all = routed_image(predictions, options, options.iterations);
  OfImage result;
  result.lengths = lengths_of(all.capsules);
  result.saturated = mean_of(lengths_of(u) > saturated_length);
  if (options.iterations > 1) {
    result.entropy = relative_entropy(all.couplings, options);
    result.cosine = mean_cosine(all.capsules, routed_image(predictions, options, 1).capsules);
  }
  return result;
}

}  // namespace

RoutingStatistics routing_statistics(const Tensor& u, const Tensor& weight, std::int64_t classes,
                                     const RoutingOptions& options) {
  std::vector<OfImage> images(static_cast<std::size_t>(std::min(images_measured, u.size(0))));
  const auto count = static_cast<std::int64_t>(images.size());
  in_parts(count, most_parts, [&](std::int64_t /*number*/, std::int64_t first, std::int64_t rows) {
    const c10::impl::ExcludeDispatchKeyGuard precise(c10::autocast_dispatch_keyset);
    for (std::int64_t at = first; at < first + rows; ++at) {
      images[static_cast<std::size_t>(at)] = of_image(u[at], weight, classes, options);
    }
  });
  OfImage sum;
  for (const OfImage& image : images) {
    sum.entropy += image.entropy;
    sum.cosine += image.cosine;
    sum.saturated += image.saturated;
    sum.lengths = sum.lengths.defined() ? sum.lengths + image.lengths : image.lengths;
  }
  RoutingStatistics result;
  if (options.iterations > 1) {
    result.entropy = sum.entropy / static_cast<double>(count);
    result.cosine = sum.cosine / static_cast<double>(count);
  }
  if (limits_lengths(options.squash)) result.saturated = sum.saturated / static_cast<double>(count);
  result.dead = mean_of(sum.lengths < dead_share * sum.lengths.max());
  return result;
}

Tensor RoutingProbe::route(const Tensor& u, const Tensor& weight, std::int64_t classes,
                           const RoutingOptions& options) {
  if (std::exchange(asked_, false) && u.size(0) > 0) {
    measured_ = routing_statistics(u, weight, classes, options);
  }
  return nn::route(u, weight, classes, options);
}

std::optional<RoutingStatistics> RoutingProbe::take() {
  asked_ = false;
  return std::exchange(measured_, std::nullopt);
}

}  // namespace seam::nn
