#include "stages/loss/proxy_anchor_loss.hpp"

#include <torch/nn/functional/normalization.h>
#include <torch/types.h>

#include <set>
#include <vector>

#include "stages/loss/item_labels.hpp"
#include "stages/loss/log_one_plus_sum.hpp"
#include "stages/nn/layers.hpp"

namespace seam::stages {
namespace {

using torch::Tensor;

/// Sums a list in parts of a fixed size: LibTorch divides the sum of a longer list among its
/// threads and then adds up their results.
Tensor sum_in_parts(const Tensor& list) {
  constexpr std::int64_t part = 16384;
  if (list.size(0) <= part) return list.sum();
  std::vector<Tensor> sums;
  for (const Tensor& some : list.split(part)) sums.push_back(some.sum());
  return sum_in_parts(torch::stack(sums));
}

}  // namespace

ProxyAnchorLoss proxy_anchor_loss(const Tensor& embedding, const Tensor& proxies,
                                  const std::vector<std::int64_t>& labels,
                                  const ProxyAnchorOptions& options) {
  check_proxy_labels(labels, embedding.size(0), proxies.size(0));
  const auto unit = [](const Tensor& rows) { return torch::nn::functional::normalize(rows); };
  // One row per proxy, so that the sums over a batch are along the rows.
  const Tensor similarity = nn::linear(unit(proxies), unit(embedding));
  const Tensor label = torch::tensor(labels, torch::kInt64).to(embedding.device());
  const Tensor own = torch::arange(proxies.size(0), label.options()).unsqueeze(1) == label;
  const Tensor from_positives =
      log_one_plus_sum(-options.alpha * (similarity - options.margin), own);
  const Tensor from_negatives =
      log_one_plus_sum(options.alpha * (similarity + options.margin), ~own);
  const auto with_rows =
      static_cast<double>(std::set<std::int64_t>(labels.begin(), labels.end()).size());
  return {sum_in_parts(from_positives) / with_rows +
              sum_in_parts(from_negatives) / static_cast<double>(proxies.size(0)),
          similarity.detach().gather(0, label.unsqueeze(0)).mean()};
}

}  // namespace seam::stages
