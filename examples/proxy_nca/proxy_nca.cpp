#include "proxy_nca.hpp"

#include <torch/torch.h>

#include <cstdint>
#include <string>

using seam::Tensor;

Tensor proxy_nca(const Tensor& embedding, const Tensor& proxies, const Tensor& categories) {
  namespace F = torch::nn::functional;
  const auto unit = [](const Tensor& rows) {
    return F::normalize(rows, F::NormalizeFuncOptions().dim(1));
  };
  // For unit vectors: |x - p|² = 2 - 2 x·p.
  const Tensor distance = 2 - 2 * unit(embedding).matmul(unit(proxies).t());
  const Tensor own = distance.gather(1, categories.unsqueeze(1)).squeeze(1);
  const Tensor is_own = F::one_hot(categories, proxies.size(0)).to(torch::kBool);
  const Tensor others = (-distance).masked_fill(is_own, -INFINITY).logsumexp(1);
  return (own + others).mean();
}

void ProxyNca::declare(seam::Declaration& d) {
  d.doc(
      "Proxy-NCA: pulls embeddings to the learned proxy of their category and pushes them away "
      "from "
      "all others (Movshovitz-Attias et al., ICCV 2017).");
  d.parameter("classes", classes_, "number of categories, each with one proxy")
      .range(2, 1000000)
      .required();
  d.parameter("size", size_, "size of an embedding").range(1, 1000000).required();
  // From the parameter: a model with a different embedding size is rejected before anything runs.
  d.needs(seam::field::embedding).contract("f32[N," + std::to_string(size_) + "]");
  d.needs(seam::field::categories);
  d.keeps_state();
  d.headline("loss", seam::Better::lower);
  declare_loss(d);  // `weight`; adds to the losses before it; lets the optimizer find the proxies
}

void ProxyNca::open(seam::Context& context) {
  seam::Random random = context.random_of_run();  // the same for the same seed
  proxies_ = torch::empty({classes_, size_});
  float* values = proxies_.data_ptr<float>();
  for (std::int64_t at = 0; at < proxies_.numel(); ++at)
    values[at] = static_cast<float>(random.normal());
  proxies_ = proxies_.to(seam::device_of(context)).set_requires_grad(true);
}

Tensor ProxyNca::compute(const seam::Packet& packet, seam::Context& /*context*/) {
  const std::vector<std::int64_t>& categories = packet.get(seam::field::categories);
  for (const std::int64_t category : categories) {
    if (category < 0 || category >= classes_) {
      throw seam::Error("category " + std::to_string(category) + " has no proxy: there are " +
                        std::to_string(classes_) + " (parameter 'classes')");
    }
  }
  measure("longest_proxy", proxies_.detach().norm(2, 1).max());
  return proxy_nca(packet.get(seam::field::embedding), proxies_,
                   torch::tensor(categories, torch::kInt64).to(proxies_.device()));
}

void ProxyNca::save(seam::Archive& archive) const {
  seam::put_tensor(archive, "proxies", proxies_);
}

void ProxyNca::load(const seam::Archive& archive) {
  seam::get_tensor(archive, "proxies", proxies_);
}
