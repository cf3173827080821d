#include "pipeline/run/recorded_change.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "pipeline/text/nearest.hpp"

namespace seam::host {
namespace {

const std::string& shown(const std::optional<std::string>& value) {
  static const std::string none = "not set";
  return value ? *value : none;
}

/// First the one, then the other: a key that is what it was before is no change.
void add(std::vector<ParameterChange>& changes, const ParameterChange& later) {
  const auto earlier = std::ranges::find(changes, later.key, &ParameterChange::key);
  if (earlier == changes.end()) {
    changes.push_back(later);
  } else if (earlier->before == later.now) {
    changes.erase(earlier);
  } else {
    earlier->now = later.now;
  }
}

}  // namespace

bool is_known(const std::vector<RecordedChange>& recorded, const CheckpointName& at,
              const std::string& pipeline) {
  return std::ranges::any_of(recorded, [&](const RecordedChange& change) {
    return !(change.at < at) &&
           std::ranges::find(change.pipelines, pipeline) != change.pipelines.end();
  });
}

std::vector<RecordedChange> with_change(std::vector<RecordedChange> recorded, RecordedChange now) {
  const auto first = std::ranges::find_if(
      recorded, [&](const RecordedChange& change) { return !(change.at < now.at); });
  const std::vector<RecordedChange> repeated(first, recorded.end());
  if (now.parameters.empty() && repeated.empty()) return recorded;
  if (now.parameters.empty() && repeated.size() == 1 && repeated.front().at == now.at) {
    return recorded;
  }
  recorded.erase(first, recorded.end());
  RecordedChange merged{now.at, std::move(now.time), {}, {}};
  for (const RecordedChange& change : repeated) {
    merged.pipelines.insert(merged.pipelines.end(), change.pipelines.begin(),
                            change.pipelines.end());
    for (const ParameterChange& parameter : change.parameters) add(merged.parameters, parameter);
  }
  for (const std::string& pipeline : now.pipelines) {
    if (std::ranges::find(merged.pipelines, pipeline) == merged.pipelines.end()) {
      merged.pipelines.push_back(pipeline);
    }
  }
  for (const ParameterChange& parameter : now.parameters) add(merged.parameters, parameter);
  std::ranges::sort(merged.parameters, {}, &ParameterChange::key);
  // One without parameters stays: it tells that a checkpoint of another pipeline is none of another
  // run.
  recorded.push_back(std::move(merged));
  return recorded;
}

std::string to_text(const ParameterChange& change) {
  return fmt::format("{} = {} (was {})", change.key, shown(change.now), shown(change.before));
}

std::string place_text(const CheckpointName& at) {
  std::string text = fmt::format("epoch {}", at.epochs + 1);
  if (at.flows > 0) text += fmt::format(", flow {}", at.flows + 1);
  if (at.steps > 0) text += fmt::format(", step {}", at.steps);
  return text;
}

std::string to_text(const RecordedChange& change) {
  std::vector<std::string> texts;
  for (const ParameterChange& parameter : change.parameters) texts.push_back(to_text(parameter));
  return fmt::format("from {} on: {}", place_text(change.at), enumerated(texts));
}

Parameters values_over_run(const std::vector<RecordedChange>& recorded) {
  Parameters values;
  for (const RecordedChange& change : recorded) {
    for (const ParameterChange& parameter : change.parameters) {
      std::string& text = values.try_emplace(parameter.key, shown(parameter.before)).first->second;
      text += fmt::format(", then {} from {}", shown(parameter.now), place_text(change.at));
    }
  }
  return values;
}

}  // namespace seam::host
