// Checks a stage's declaration and the values that its parameters reject.

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "conformance_trial.hpp"
#include "seam/contract.hpp"

namespace seam::testing::checks {
namespace {

constexpr double exact_integers = 9007199254740992.0;  // 2^53

/// Whether it has the form of a stage's name without a family.
bool is_name(std::string_view text) {
  return is_stage_name(text) && text.find('.') == std::string_view::npos;
}

void describe_parameter(const ParameterInfo& parameter, const Description& description,
                        Findings& findings) {
  const std::string which = "parameter '" + parameter.name + "' ";
  if (!is_name(parameter.name)) {
    findings.push_back(which + "must consist of lower-case letters, digits and underscores");
  }
  if (parameter.doc.empty()) findings.push_back(which + "has no description");
  if (parameter.default_value && !parameter.required) {
    if (const auto problem = problem_with(parameter, *parameter.default_value)) {
      findings.push_back(which + "rejects its own default: " + *problem);
    }
  }
  const bool of_choices =
      parameter.kind == ValueKind::enumeration || parameter.kind == ValueKind::enumerations;
  if (parameter.kind == ValueKind::enumeration && !parameter.default_value && !parameter.required) {
    findings.push_back(which + "has a default that is not one of its choices");
  }
  if (of_choices && parameter.choices.empty()) findings.push_back(which + "has no values");
  for (const ParameterInfo& other : description.parameters) {
    if (!other.is_preset || !other.default_value) continue;
    const auto& first = std::get<std::string>(*other.default_value);
    if (parameter.preset_defaults.contains(first)) {
      findings.push_back(which + "does not begin with the value of preset '" + first +
                         "'; initialise the options with this preset");
    }
  }
  for (const std::optional<Condition>& condition : {parameter.only_with, parameter.unused_with}) {
    if (!condition) continue;
    const auto& [name, values] = *condition;
    const auto other = std::ranges::find(description.parameters, name, &ParameterInfo::name);
    if (other == description.parameters.end()) {
      findings.push_back(which + "depends on '" + name + "', which is not a parameter");
      continue;
    }
    for (const Value& value : values) {
      if (const auto problem = problem_with(*other, value)) {
        findings.push_back(which + "depends on a value that '" + name + "' rejects: " + *problem);
      }
    }
  }
}

void describe_fields(const std::vector<FieldInfo>& fields, const std::string& what,
                     Findings& findings) {
  std::set<std::string> seen;
  for (const FieldInfo& field : fields) {
    if (!seen.insert(field.name).second) {
      findings.push_back(what + " field '" + field.name + "' twice");
    }
    if (field.contract.empty()) continue;
    expecting_nothing_thrown(findings, "the contract of field '" + field.name + "'",
                             [&] { (void)TensorContract::parse(field.contract); });
  }
}

std::vector<std::string> parameter_names(const Description& description) {
  std::vector<std::string> names;
  for (const ParameterInfo& parameter : description.parameters) names.push_back(parameter.name);
  return names;
}

/// Values that no parameter of this kind may accept.
std::vector<Value> bad_values(const ParameterInfo& parameter) {
  const std::string no_choice = "no such choice";
  std::vector<Value> values;
  switch (parameter.kind) {
    case ValueKind::boolean:
      values = {std::int64_t{1}, std::string("true")};
      break;
    case ValueKind::integer:
      values = {1.5, std::string("1"), true};
      // Beyond that, a double cannot distinguish a bound from the next integer.
      if (parameter.least && std::abs(*parameter.least) < exact_integers) {
        values.emplace_back(static_cast<std::int64_t>(*parameter.least) - 1);
      }
      if (parameter.most && std::abs(*parameter.most) < exact_integers) {
        values.emplace_back(static_cast<std::int64_t>(*parameter.most) + 1);
      }
      break;
    case ValueKind::number: {
      constexpr double infinity = std::numeric_limits<double>::infinity();
      values = {std::string("1"), true};
      if (parameter.least && *parameter.least > -infinity) {
        values.emplace_back(std::nextafter(*parameter.least, -infinity));
      }
      if (parameter.most && *parameter.most < infinity) {
        values.emplace_back(std::nextafter(*parameter.most, infinity));
      }
      break;
    }
    case ValueKind::text:
      values = {std::int64_t{1}, false};
      if (!parameter.choices.empty()) values.emplace_back(no_choice);
      break;
    case ValueKind::path:
      values = {std::int64_t{1}, false};
      break;
    case ValueKind::enumeration:
      values = {no_choice, std::int64_t{0}};
      break;
    case ValueKind::integers:
    case ValueKind::numbers:
      values = {std::vector<std::string>{"1"}, std::string("1")};
      break;
    case ValueKind::texts:
      values = {std::vector<std::int64_t>{1}, std::int64_t{1}};
      break;
    case ValueKind::enumerations:
      values = {std::vector<std::string>{no_choice}, no_choice};
      break;
    case ValueKind::reference:
      break;
  }
  return values;
}

/// Checks that the error is addressed to the author of the pipeline file.
void expect_refusal(const Error& error, const std::string& what, Findings& findings) {
  if (error.fault() != Fault::configuration) {
    findings.push_back(what +
                       " is rejected, but not with Fault::configuration: " + error.full_message());
  }
}

}  // namespace

Findings describes_itself(const Candidate& candidate) {
  Findings findings;
  expecting_nothing_thrown(findings, "declare()", [&] {
    if (!is_stage_name(candidate.name)) {
      findings.push_back("'" + candidate.name +
                         "' is not a stage name: \"family.what_it_does\", in lower case");
    }
    StageRunner runner(candidate.name, candidate.name, candidate.make());
    const Description& description = runner.description();
    if (description.doc.empty())
      findings.push_back("declare() does not describe the stage: add d.doc(...)");
    std::set<std::string> names;
    for (const ParameterInfo& parameter : description.parameters) {
      describe_parameter(parameter, description, findings);
      std::vector<std::string> all = parameter.renamed_from;
      all.push_back(parameter.name);
      for (const std::string& name : all) {
        if (!names.insert(name).second)
          findings.push_back("there are two parameters '" + name + "'");
      }
    }
    describe_fields(description.needs, "it needs", findings);
    describe_fields(description.accepts, "it accepts", findings);
    describe_fields(description.provides, "it provides", findings);
    for (const Headline& headline : description.headlines) {
      if (headline.metric.empty()) findings.push_back("a headline names no metric");
    }
    if (runner.kind() == StageKind::source &&
        !(description.needs.empty() && description.accepts.empty())) {
      findings.push_back("a source has no stage before it, but this one needs or accepts fields");
    }
    if (runner.kind() == StageKind::sink && !description.provides.empty()) {
      findings.push_back("a sink has no stage after it, but this one provides fields");
    }
    if (runner.kind() != StageKind::collector && description.replaces_packets) {
      findings.push_back("only a collector can replace packets");
    }
    if (!description.gathers.empty() && !description.replaces_packets) {
      findings.push_back("only a collector that replaces packets can gather their fields");
    }
    Declaration again;
    runner.stage().declare(again);  // the host does so after the parameters are set
    if (parameter_names(again.description()) != parameter_names(description)) {
      findings.push_back("declare() declares different parameters when it is called again");
    }
  });
  return findings;
}

Findings refuses_bad_parameters(const Candidate& candidate) {
  Findings findings;
  const auto set = [&](const std::string& name, const Value& value) {
    const std::string what = name + " = " + to_text(value);
    try {
      StageRunner runner(candidate.name, candidate.name, candidate.make());
      runner.configure({{name, value}});
      findings.push_back(what + " is accepted");
    } catch (const Error& error) {
      expect_refusal(error, what, findings);
      if (std::string_view(error.what()).find(name) == std::string_view::npos) {
        findings.push_back(what + " is rejected without naming the parameter: " + error.what());
      }
    }
  };
  expecting_nothing_thrown(findings, "setting parameters", [&] {
    const StageRunner runner(candidate.name, candidate.name, candidate.make());
    for (const ParameterInfo& parameter : runner.description().parameters) {
      for (const Value& value : bad_values(parameter)) set(parameter.name, value);
    }
    set("no_such_parameter", std::int64_t{1});
    for (const Example::Parameters& parameters : candidate.example.refused) {
      std::string what;
      for (const auto& [name, value] : parameters) {
        what += (what.empty() ? "" : ", ") + name + " = " + to_text(value);
      }
      try {
        Trial trial(candidate, modes(candidate).front(), parameters);
        trial->open();
        findings.push_back(what + " is accepted");
      } catch (const Error& error) {
        expect_refusal(error, what, findings);
      }
    }
  });
  return findings;
}

}  // namespace seam::testing::checks
