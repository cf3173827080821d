// Checks that a stage uses its parameters.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "conformance_trial.hpp"

namespace seam::testing::checks {
namespace {

/// Bounds of a range are tried only up to here: larger values may need all memory.
constexpr double largest_bound_tried = 1000;

/// Everything that a user can see of a run.
struct Effect {
  std::string declaration;
  std::vector<Result> flows;
  std::vector<Archive> state;
  Archive weights;  ///< as an optimizer sees them
  std::map<std::string, std::string> files;
  std::string refusal;
};

bool same(const Effect& a, const Effect& b) {
  return a.declaration == b.declaration && a.refusal == b.refusal && a.state == b.state &&
         a.weights == b.weights && a.files == b.files &&
         std::ranges::equal(a.flows, b.flows, [](const Result& one, const Result& other) {
           return !difference(one, other);
         });
}

std::string text_of(const Description& description) {
  std::string text;
  for (const auto* fields : {&description.needs, &description.accepts, &description.provides}) {
    for (const FieldInfo& field : *fields) {
      text += field.name + ' ' + field.type + ' ' + field.contract + '\n';
    }
    text += '\n';
  }
  for (const GatheredField& field : description.gathers) text += field.from + ' ' + field.name;
  for (const std::string& label : description.labels_read) text += label + '\n';
  for (const Headline& headline : description.headlines) {
    text += headline.metric + (headline.better == Better::higher ? " higher\n" : " lower\n");
  }
  for (const bool flag : {description.keeps_state, description.state_made_by_flow,
                          description.replaces_packets, description.trains}) {
    text += flag ? '1' : '0';
  }
  return text;
}

/// Two flows of the example with these parameters.
Effect effect_of(const Candidate& candidate, bool training, const Example::Parameters& parameters,
                 RunDirectory& directory) {
  Effect effect;
  try {
    Trial trial(candidate, training, parameters);
    trial->run_directory(directory.path());
    effect.declaration = text_of(trial.description());
    for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
      trial.flow(epoch);
      effect.flows.push_back(take(*trial));
    }
    effect.state = save(*trial);
    if (training && candidate.weights) {
      effect.weights = candidate.weights(trial->runner().stage(), effect.flows.back().outputs);
    }
  } catch (const Error& error) {
    effect.refusal = error.full_message();
  }
  effect.files = directory.take_files();
  return effect;
}

/// Values to try instead of `now`, which may be empty.
std::vector<Value> other_values(const ParameterInfo& parameter, const std::optional<Value>& now) {
  std::vector<Value> values;
  const auto number = [&](double value) {
    if (parameter.kind == ValueKind::integer) {
      values.emplace_back(static_cast<std::int64_t>(value));
    } else {
      values.emplace_back(value);
    }
  };
  switch (parameter.kind) {
    case ValueKind::boolean:
      values = {true, false};
      break;
    case ValueKind::integer:
    case ValueKind::number: {
      double before = 0;
      if (now) {
        const auto* integer = std::get_if<std::int64_t>(&*now);
        before = integer != nullptr ? static_cast<double>(*integer) : std::get<double>(*now);
      }
      for (const double value : {before + 1, before * 2, before / 2, before - 1, 1.0, 0.0, 0.5}) {
        number(value);
      }
      for (const std::optional<double> bound : {parameter.least, parameter.most}) {
        if (bound && std::abs(*bound) <= largest_bound_tried) number(*bound);
      }
      break;
    }
    case ValueKind::text:
    case ValueKind::enumeration:
      for (const std::string& choice : parameter.choices) values.emplace_back(choice);
      break;
    case ValueKind::enumerations:
      for (const std::string& choice : parameter.choices) {
        values.emplace_back(std::vector<std::string>{choice});
      }
      values.emplace_back(parameter.choices);
      break;
    case ValueKind::path:
    case ValueKind::integers:
    case ValueKind::numbers:
    case ValueKind::texts:
    case ValueKind::reference:
      break;
  }
  std::vector<Value> usable;
  for (const Value& value : values) {
    if ((!now || !(value == *now)) && !problem_with(parameter, value) &&
        std::ranges::find(usable, value) == usable.end()) {
      usable.push_back(value);
    }
  }
  return usable;
}

class ParameterCheck {
 public:
  explicit ParameterCheck(const Candidate& candidate) : candidate_(candidate) {}

  void check(const ParameterInfo& parameter, const Description& description, Findings& findings) {
    const Example& example = candidate_.example;
    const auto second = example.second.find(parameter.name);
    const auto given = example.given.find(parameter.name);
    const bool listed = second != example.second.end() || given != example.given.end();
    if (!example.name.empty() && !listed) return;
    const Example::Parameters with =
        given == example.given.end() ? Example::Parameters() : given->second;
    Example::Parameters all = with;
    all.insert(example.parameters.begin(), example.parameters.end());
    const auto set = all.find(parameter.name);
    const std::optional<Value> now =
        set != all.end() ? set->second : default_of(parameter, description, all);
    const std::vector<Value> values = second != example.second.end()
                                          ? std::vector<Value>{second->second}
                                          : other_values(parameter, now);
    const bool excused = example.without_effect.contains(parameter.name);
    std::string tried;
    for (const Value& value : values) {
      if (matters(parameter.name, value, with)) {
        if (excused) {
          findings.push_back("parameter '" + parameter.name +
                             "' is listed in without_effect, but " + to_text(value) +
                             " has an effect; remove it from the list");
        }
        return;
      }
      tried += (tried.empty() ? "" : ", ") + to_text(value);
    }
    if (values.empty() || excused) return;
    findings.push_back(
        "parameter '" + parameter.name + "' changes nothing" +
        (now ? ": " + to_text(*now) + " has the same effect as " + tried : ", tried: " + tried) +
        "; if it should, extend the example so that the effect shows, set a value with an effect "
        "in `second`, or set other parameters that it depends on in `given`");
  }

 private:
  bool matters(const std::string& name, const Value& value, const Example::Parameters& with) {
    Example::Parameters changed = with;
    changed[name] = value;
    for (const bool training : modes(candidate_)) {
      const auto key = std::pair(training, with);
      auto base = bases_.find(key);
      if (base == bases_.end()) {
        base = bases_.emplace(key, effect_of(candidate_, training, with, directory_)).first;
      }
      if (!same(base->second, effect_of(candidate_, training, changed, directory_))) return true;
    }
    return false;
  }

  const Candidate& candidate_;  // the check's
  RunDirectory directory_;
  std::map<std::pair<bool, Example::Parameters>, Effect> bases_;
};

}  // namespace

Findings each_parameter_matters(const Candidate& candidate) {
  Findings findings;
  expecting_nothing_thrown(findings, "trying other parameters", [&] {
    const StageRunner runner(candidate.name, candidate.name, candidate.make());
    const std::vector<ParameterInfo>& parameters = runner.description().parameters;
    const auto is_known = [&](const std::string& name) {
      const bool known =
          std::ranges::find(parameters, name, &ParameterInfo::name) != parameters.end();
      if (!known) findings.push_back("the example sets '" + name + "', which is not a parameter");
      return known;
    };
    for (const auto& [name, value] : candidate.example.second) is_known(name);
    for (const auto& [name, others] : candidate.example.given) is_known(name);
    for (const auto& [name, reason] : candidate.example.without_effect) {
      if (is_known(name) && reason.empty()) {
        findings.push_back("without_effect gives no reason for parameter '" + name + "'");
      }
    }
    ParameterCheck check(candidate);
    for (const ParameterInfo& parameter : parameters) {
      check.check(parameter, runner.description(), findings);
    }
  });
  return findings;
}

}  // namespace seam::testing::checks
