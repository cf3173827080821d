#include "pipeline/run/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <compare>
#include <numeric>

#include "pipeline/text/json.hpp"
#include "pipeline/text/lists.hpp"

namespace seam::host {
namespace {

/// Without duplicates: a stage may appear in a flow twice.
std::vector<std::string> distinct(const std::vector<std::string>& names) {
  std::vector<std::string> result;
  for (const std::string& name : names) add_unless_present(result, name);
  return result;
}

}  // namespace

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::string number_text(double number) {
  if (std::isnan(number)) return "null";
  if (std::isinf(number)) return number > 0 ? "1e999" : "-1e999";
  return shortest_text(number);
}

std::string shortest_text(double number) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

void Metrics::record(std::string_view stage, std::string_view name, double value) {
  const std::lock_guard lock(mutex_);
  auto stream = recorded_.find(stage);
  if (stream == recorded_.end()) stream = recorded_.emplace(stage, Stream{}).first;
  auto values = stream->second.find(name);
  if (values == stream->second.end()) {
    values = stream->second.emplace(name, std::vector<double>{}).first;
  }
  values->second.push_back(value);
  if (name == metric_name::loss || !latest_ || latest_->first != metric_name::loss) {
    latest_.emplace(std::string(name), value);
  }
}

std::optional<std::pair<std::string, double>> Metrics::latest() const {
  const std::lock_guard lock(mutex_);
  return latest_;
}

std::string metric_lines(const std::vector<RecordedSeries>& series, std::int64_t epoch,
                         const std::string& flow, std::string_view when) {
  const std::string end = when.empty() ? "" : ",\"when\":" + json_line(std::string(when));
  std::string lines;
  for (const RecordedSeries& one : series) {
    std::string begin =
        json_line({{"epoch", epoch}, {"flow", flow}, {"stage", one.stage}, {"name", one.name}});
    begin.pop_back();  // the closing brace: only the numbers, which follow, differ by step
    for (std::size_t step = 0; step < one.values.size(); ++step) {
      lines += fmt::format("{},\"step\":{},\"value\":{}{}}}\n", begin, step,
                           number_text(one.values[step]), end);
    }
  }
  return lines;
}

std::vector<RecordedSeries> Metrics::take(const std::vector<std::string>& stages,
                                          const std::vector<std::string>& unordered) {
  Recorded recorded;
  {
    const std::lock_guard lock(mutex_);
    recorded.swap(recorded_);
    latest_.reset();
  }
  std::vector<std::string> order = distinct(stages);
  for (const auto& [stage, stream] : recorded) add_unless_present(order, stage);
  std::vector<RecordedSeries> taken;
  last_flow_.clear();
  for (const std::string& stage : order) {
    const auto found = recorded.find(stage);
    if (found == recorded.end()) continue;
    const bool ordered = !contains(unordered, stage);
    for (auto& [name, values] : found->second) {
      // A total order even with NaN, unlike operator<.
      if (!ordered) {
        std::ranges::sort(values,
                          [](double a, double b) { return std::is_lt(std::strong_order(a, b)); });
      }
      const RecordedSeries& series =
          taken.emplace_back(RecordedSeries{stage, name, std::move(values), ordered});
      const double average = mean(series.values);
      this_epoch_[series.metric()] = means_[series.metric()] = average;
      last_flow_[series.metric()] = {average, series.values.size()};
    }
  }
  return taken;
}

Metrics::Recorded Metrics::recorded_by(const std::vector<std::string>& stages) const {
  const std::lock_guard lock(mutex_);
  Recorded recorded;
  for (const std::string& stage : stages) {
    if (const auto found = recorded_.find(stage); found != recorded_.end()) recorded.insert(*found);
  }
  return recorded;
}

void Metrics::put_back(const std::vector<std::string>& stages, Recorded recorded) {
  const std::lock_guard lock(mutex_);
  for (const std::string& stage : stages) recorded_.erase(stage);
  recorded_.merge(recorded);
}

std::vector<std::string> Metrics::of_this_epoch() const {
  return keys_in(this_epoch_);
}

void Metrics::restore_epoch(const std::vector<std::string>& names) {
  this_epoch_.clear();
  for (const std::string& name : names) {
    if (const auto mean = means_.find(name); mean != means_.end()) this_epoch_.insert(*mean);
  }
}

void Metrics::epoch_begins() {
  this_epoch_.clear();
}

std::optional<double> Metrics::value(const std::string& name) const {
  const auto found = this_epoch_.find(name);
  if (found == this_epoch_.end()) return std::nullopt;
  return found->second;
}

}  // namespace seam::host
