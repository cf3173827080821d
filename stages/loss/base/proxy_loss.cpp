#include "stages/loss/base/proxy_loss.hpp"

#include <torch/types.h>

#include <cmath>

#include "stages/loss/base/item_labels.hpp"

namespace seam::stages {
namespace {

/// Kaiming normal with fan out, as in the paper's code and pytorch-metric-learning.
Tensor initial_proxies(std::int64_t items, std::int64_t dimensions, Random random) {
  const double deviation = std::sqrt(2.0 / static_cast<double>(items));
  Tensor proxies = torch::empty({items, dimensions});
  float* const values = proxies.data_ptr<float>();
  for (std::int64_t at = 0; at < proxies.numel(); ++at) {
    values[at] = static_cast<float>(random.normal() * deviation);
  }
  return proxies;
}

std::string proxies_text(std::int64_t items, std::int64_t dimensions) {
  return std::to_string(items) + " proxies of " + std::to_string(dimensions) + " dimensions";
}

}  // namespace

void ProxyLoss::declare_proxies(Declaration& d) {
  d.parameter("items", given_items_,
              "number of proxies, one per item of the training list; default: the number of items "
              "in the data sets before the loss")
      .range(2, 1e8);
  d.parameter("dimensions", dimensions_, "length of the embedding").range(1, 1e6).from_field();
}

void ProxyLoss::declare_proxy_loss(Declaration& d) {
  d.parameter("rate_scale", rate_scale_, "factor on the optimizer's learning rate for the proxies")
      .range(0, 1e6);
  // From the parameter, so that a model with a different width is rejected before the run.
  d.needs(field::embedding).contract("f32[N," + dimension_of(dimensions_, "dimensions") + "]");
  d.needs(field::items).doc("the items whose proxies are the positives of the rows");
  d.accepts(field::origins).doc("to name an image without an item");
  d.upstream(served_, "items, which get proxies in order of their names");
  d.keeps_state();
  d.headline("loss", Better::lower);
  declare_loss(d);
}

std::int64_t ProxyLoss::count_items(const Context& context) const {
  const auto served = static_cast<std::int64_t>(names_of(served_).size());
  if (!given_items_) {
    if (served >= 2) return served;
    throw Error("no data set before the loss declares its number of items; set `items`",
                Fault::configuration);
  }
  if (served > 0 && served < *given_items_) {
    context.warn("`items = " + std::to_string(*given_items_) +
                 "`, but the data sets before the loss serve " + std::to_string(served) +
                 " items: the other proxies push every image away; remove `items`");
  }
  return *given_items_;
}

void ProxyLoss::open(Context& context) {
  if (dimensions_ == 0) {
    throw Error("the length of the embedding is unknown before the run; set `dimensions`",
                Fault::configuration);
  }
  items_ = count_items(context);
  of_items_ = ItemProxies(items_);
  proxies_ = initial_proxies(items_, dimensions_, context.random_of_run())
                 .to(device_of(context))
                 .set_requires_grad(true);
}

Tensor ProxyLoss::compute(const Packet& packet, Context& context) {
  check_items(packet);
  const Tensor& embedding = packet.get(field::embedding);
  if (embedding.dim() != 2 || embedding.size(1) != dimensions_) {
    // If a model does not declare its width, only its batches show it.
    throw Error("the embedding of an image has " + std::to_string(embedding.size(-1)) +
                    " values, but a proxy has " + std::to_string(dimensions_) +
                    "; set `dimensions` to the length of the model's embedding",
                Fault::configuration);
  }
  if (context.training()) {
    if (of_items_.empty()) of_items_.assign(names_of(served_));
    warn_of_proxies_left(context);
  }
  const std::vector<std::int64_t> labels =
      of_items_.number_of(packet.get(field::items),
                          context.training() ? ItemProxies::New::join : ItemProxies::New::refused);
  const MeasuredLoss result = compare(embedding, proxies_, labels);
  for (const auto& [metric, value] : result.measured) measure(metric, value);
  return result.loss;
}

void ProxyLoss::batch_accepted() {
  Loss::batch_accepted();
  of_items_.accept();
}

void ProxyLoss::warn_of_proxies_left(const Context& context) {
  if (!first_flow_) first_flow_ = context.trainings();
  if (warned_ || context.trainings() == *first_flow_) return;
  warned_ = true;
  if (of_items_.left() == 0) return;
  const std::string item = of_items_.first_untrained();
  context.warn("after a training flow, " + std::to_string(of_items_.left()) + " of " +
               std::to_string(items_) + " proxies have had no image of their item" +
               (item.empty() ? "" : ", such as that of '" + item + "'") +
               "; they push every image away. If the training list has " +
               std::to_string(items_ - of_items_.left()) + " items, set `items` to that");
}

void ProxyLoss::save(Archive& archive) const {
  put_tensor(archive, "proxies", proxies_);
  of_items_.save(archive);
}

void ProxyLoss::load(const Archive& archive) {
  const std::vector<std::int64_t>& saved = archive.get("proxies", "f32").shape;
  if (saved.size() == 2 && saved != proxies_.sizes().vec()) {
    throw Error("the checkpoint has " + proxies_text(saved[0], saved[1]) +
                    ", but this pipeline has " + proxies_text(items_, dimensions_) +
                    "; set `items` and `dimensions` as in the checkpoint, or start a new run",
                Fault::configuration);
  }
  of_items_.load(archive);
  get_tensor(archive, "proxies", proxies_);
}

}  // namespace seam::stages
