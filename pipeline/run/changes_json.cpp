#include "pipeline/run/changes_json.hpp"

#include <utility>

namespace seam::host {

Json changes_json(const std::vector<RecordedChange>& changes) {
  const auto value = [](const std::optional<std::string>& text) {
    return text ? Json(*text) : Json();
  };
  Json list = Json::array();
  for (const RecordedChange& change : changes) {
    if (change.parameters.empty()) continue;
    Json parameters = Json::array();
    for (const ParameterChange& parameter : change.parameters) {
      parameters.push_back({{"key", parameter.key},
                            {"before", value(parameter.before)},
                            {"now", value(parameter.now)}});
    }
    Json json{{"epoch", change.at.epochs},
              {"time", change.time},
              {"text", to_text(change)},
              {"parameters", std::move(parameters)}};
    if (change.at.flows > 0) json["flows_done"] = change.at.flows;
    if (change.at.steps > 0) json["steps_done"] = change.at.steps;
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace seam::host
