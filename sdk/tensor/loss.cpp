#include "seam/loss.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>

namespace seam {

void Loss::begin(Context& /*context*/) {
  processed_.clear();
  accepted_.clear();
  evaluated_.clear();
}

void Loss::process(Packet& packet, Context& context) {
  record_accepted(context);
  processed_.clear();
  measured_.clear();
  const Tensor part = checked(compute(packet, context));
  Tensor total = weight_ == 1 ? part : part * weight_;
  // Without a gradient of zeros: weight decay changes every weight that has a gradient.
  if (weight_ == 0) total = torch::zeros_like(part.detach());
  if (packet.has(field::loss)) total = packet.get(field::loss) + total;
  processed_.emplace_back(metric_name::loss, part.detach());
  processed_.emplace_back("total", total.detach());
  std::move(measured_.begin(), measured_.end(), std::back_inserter(processed_));
  packet.set(field::loss, std::move(total));
  if (!context.training()) add_evaluated(rows_of(packet));
}

void Loss::end(Context& context) {
  record_accepted(context);
  for (const Evaluated& metric : evaluated_) {
    context.metric(metric.name, metric.rows > 0 ? metric.sum / metric.rows
                                                : std::numeric_limits<double>::quiet_NaN());
  }
  evaluated_.clear();
}

Pause Loss::pause(Context& context) {
  record_accepted(context);
  return evaluated_.empty() ? Pause::ready : Pause::unsupported;  // its sums are not saved
}

void Loss::batch_accepted() {
  accepted_ = take_processed();
}

void Loss::declare_loss(Declaration& d) {
  d.parameter("weight", weight_,
              "weight of this loss in the total loss; 0: it is only measured, and trains nothing")
      .range(0, 1e9);
  d.accepts(field::loss).doc("sum of the preceding losses");
  d.provides(field::loss).doc("sum including this loss");
  d.offers<Trainable>(*this);
}

void Loss::measure(std::string name, const Tensor& value) {
  if (value.numel() != 1) {
    throw Error("metric '" + name + "' of a loss must have one element, not " +
                    std::to_string(value.numel()),
                Fault::internal);
  }
  measured_.emplace_back(std::move(name), value.detach().reshape({}));
}

void Loss::measure(std::string name, double value) {
  measured_.emplace_back(std::move(name), torch::scalar_tensor(value, torch::kFloat64));
}

void Loss::measure_mean(std::string name, const Tensor& values) {
  if (values.numel() > 0) measured_.emplace_back(std::move(name), values.detach().flatten());
}

double Loss::rows_of(const Packet& packet) {
  for (const Packet::Slot& slot : packet.slots()) {
    if (!slot.by_row || slot.type->rows == nullptr) continue;
    const std::int64_t rows = slot.type->rows(slot.value.get());
    if (rows > 0) return static_cast<double>(rows);
  }
  return 1;
}

Loss::Numbers Loss::take_processed() {
  std::vector<Tensor> tensors;
  for (const auto& [name, value] : processed_) {
    tensors.push_back(value.dim() == 0 ? value : value.to(torch::kFloat64).mean());
  }
  const std::vector<double> values = numbers_in(tensors);
  Numbers numbers;
  for (std::size_t at = 0; at < values.size(); ++at) {
    numbers.emplace_back(std::move(processed_[at].first), values[at]);
  }
  processed_.clear();
  return numbers;
}

void Loss::add_evaluated(double rows) {
  std::vector<double> counts;
  for (const auto& [name, value] : processed_) {
    counts.push_back(value.dim() == 0 ? rows : static_cast<double>(value.numel()));
  }
  const Numbers numbers = take_processed();
  require_finite(numbers.at(0).second);
  require_finite(numbers.at(1).second);
  for (std::size_t at = 0; at < numbers.size(); ++at) {
    const std::string& name = numbers[at].first;
    const auto known = std::ranges::find(evaluated_, name, &Evaluated::name);
    Evaluated& metric =
        known != evaluated_.end() ? *known : evaluated_.emplace_back(Evaluated{name, 0, 0});
    if (std::isnan(numbers[at].second)) continue;
    metric.sum += counts[at] * numbers[at].second;
    metric.rows += counts[at];
  }
}

Tensor Loss::checked(const Tensor& loss) {
  if (!loss.defined() || loss.dim() != 0 || !loss.is_floating_point()) {
    throw Error("compute() of a loss must return a scalar floating-point tensor, but returned " +
                    (loss.defined() ? element_name(loss.scalar_type()) + " of " +
                                          std::to_string(loss.dim()) + " dimensions"
                                    : std::string("an undefined tensor")),
                Fault::internal);
  }
  return loss.scalar_type() == torch::kFloat32 ? loss : loss.to(torch::kFloat32);
}

void Loss::require_finite(double value) {
  if (std::isfinite(value)) return;
  throw Error(std::string("the loss of this batch is ") + (std::isnan(value) ? "NaN" : "infinite") +
              ", so no mean can be reported; check the weights and the batch's fields for "
              "non-finite values");
}

void Loss::record_accepted(const Context& context) {
  for (const auto& [metric, value] : accepted_) context.metric(metric, value);
  accepted_.clear();
}

}  // namespace seam
