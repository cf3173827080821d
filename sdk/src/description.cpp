#include "seam/description.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "seam/contract.hpp"
#include "seam/error.hpp"
#include "seam/field.hpp"

namespace seam {
namespace {

/// The shortest text that parses to the same number, as a floating-point number.
std::string number_text(double number) {
  std::array<char, 32> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  std::string text(buffer.data(), end);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string bound_text(double bound) {
  constexpr double exact_integers = 1e15;
  if (std::nearbyint(bound) == bound && std::abs(bound) < exact_integers) {
    return std::to_string(static_cast<std::int64_t>(bound));
  }
  std::string text = number_text(bound);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

std::string quoted(const std::string& text) {
  constexpr std::string_view special = "\"\\\n\t\r";
  constexpr std::string_view letters = "\"\\ntr";
  std::string result = "\"";
  for (const char c : text) {
    if (const std::size_t at = special.find(c); at != std::string_view::npos) {
      result += {'\\', letters[at]};
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(c));
      result += escape.data();
    } else {
      result += c;
    }
  }
  return result + "\"";
}

template <class T>
std::string text_of(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_same_v<T, double>) {
    return number_text(value);
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    return std::to_string(value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return quoted(value);
  } else {
    std::string list = "[";
    for (const auto& element : value) list += (list.size() > 1 ? ", " : "") + text_of(element);
    return list + "]";
  }
}

std::string joined(const std::vector<std::string>& texts) {
  std::string result;
  for (const std::string& text : texts) result += (result.empty() ? "" : ", ") + text;
  return result;
}

bool has_kind(const ParameterInfo& parameter, const Value& value) {
  switch (parameter.kind) {
    case ValueKind::boolean:
      return std::holds_alternative<bool>(value);
    case ValueKind::integer:
      return std::holds_alternative<std::int64_t>(value);
    case ValueKind::number:
      return std::holds_alternative<double>(value) || std::holds_alternative<std::int64_t>(value);
    case ValueKind::text:
    case ValueKind::path:
    case ValueKind::enumeration:
    case ValueKind::reference:
      return std::holds_alternative<std::string>(value);
    case ValueKind::integers:
      return std::holds_alternative<std::vector<std::int64_t>>(value);
    case ValueKind::numbers:
      return std::holds_alternative<std::vector<double>>(value) ||
             std::holds_alternative<std::vector<std::int64_t>>(value);
    case ValueKind::texts:
    case ValueKind::enumerations:
      return std::holds_alternative<std::vector<std::string>>(value);
  }
  return false;
}

std::string range_text(const ParameterInfo& parameter) {
  const auto& [least, most] = std::pair(parameter.least, parameter.most);
  if (least && most) return " from " + bound_text(*least) + " to " + bound_text(*most);
  if (least) return " of at least " + bound_text(*least);
  if (most) return " of at most " + bound_text(*most);
  return {};
}

std::optional<std::string> out_of_range(const ParameterInfo& parameter, double number) {
  if (std::isnan(number)) return "nan is not a value for a parameter";
  if (parameter.least && number < *parameter.least) {
    return bound_text(number) + " is less than " + bound_text(*parameter.least);
  }
  if (parameter.most && number > *parameter.most) {
    return bound_text(number) + " is more than " + bound_text(*parameter.most);
  }
  return std::nullopt;
}

std::optional<std::string> no_choice(const ParameterInfo& parameter, const std::string& text) {
  if (parameter.choices.empty() ||
      std::ranges::find(parameter.choices, text) != parameter.choices.end()) {
    return std::nullopt;
  }
  return quoted(text) + " is not one of " + joined(parameter.choices);
}

template <class T>
std::optional<std::string> first_problem(const ParameterInfo& parameter, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return std::nullopt;
  } else if constexpr (std::is_arithmetic_v<T>) {
    return out_of_range(parameter, static_cast<double>(value));
  } else if constexpr (std::is_same_v<T, std::string>) {
    return no_choice(parameter, value);
  } else {
    for (const auto& element : value) {
      if (auto problem = first_problem(parameter, element)) return problem;
    }
    return std::nullopt;
  }
}

}  // namespace

bool is_stage_name(std::string_view text) {
  const auto is_word = [](std::string_view word) {
    return !word.empty() && word.front() >= 'a' && word.front() <= 'z' &&
           std::ranges::all_of(word, [](char c) {
             return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
           });
  };
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos) return is_word(text);
  return is_word(text.substr(0, dot)) && is_word(text.substr(dot + 1));
}

std::string_view kind_name(ValueKind kind) {
  switch (kind) {
    case ValueKind::boolean:
      return "true or false";
    case ValueKind::integer:
      return "an integer";
    case ValueKind::number:
      return "a number";
    case ValueKind::text:
      return "a text";
    case ValueKind::path:
      return "a path";
    case ValueKind::enumeration:
      return "one of the choices";
    case ValueKind::integers:
      return "a list of integers";
    case ValueKind::numbers:
      return "a list of numbers";
    case ValueKind::texts:
      return "a list of texts";
    case ValueKind::enumerations:
      return "a list of the choices";
    case ValueKind::reference:
      return "the name of a stage";
  }
  return "a value";
}

std::string_view to_string(ParameterRole role) {
  switch (role) {
    case ParameterRole::setting:
      return "setting";
    case ParameterRole::replicate:
      return "replicate";
    case ParameterRole::protocol:
      return "protocol";
    case ParameterRole::same_results:
      return "same_results";
  }
  return "";
}

std::string to_text(const Value& value) {
  return std::visit([](const auto& one) { return text_of(one); }, value);
}

std::optional<std::string> problem_with(const ParameterInfo& parameter, const Value& value) {
  if (!has_kind(parameter, value)) {
    return to_text(value) + " is not " + std::string(kind_name(parameter.kind));
  }
  return std::visit([&](const auto& one) { return first_problem(parameter, one); }, value);
}

std::string accepted_by(const ParameterInfo& parameter) {
  std::string text;
  if (!parameter.choices.empty()) {
    text = (parameter.kind == ValueKind::enumerations || parameter.kind == ValueKind::texts
                ? "a list of "
                : "one of ") +
           joined(parameter.choices);
  } else {
    text = std::string(kind_name(parameter.kind)) + range_text(parameter);
  }
  if (!parameter.unit.empty()) text += " (" + parameter.unit + ")";
  return text;
}

namespace {

/// `"a", "b" or "c"`
std::string alternatives(const std::vector<Value>& values) {
  std::string text;
  for (std::size_t at = 0; at < values.size(); ++at) {
    if (at > 0) text += at + 1 == values.size() ? " or " : ", ";
    text += to_text(values[at]);
  }
  return text;
}

}  // namespace

std::optional<Value> default_of(const ParameterInfo& parameter, const Description& description,
                                const Values& set) {
  for (const ParameterInfo& preset : description.parameters) {
    const auto chosen = set.find(preset.name);
    if (!preset.is_preset || chosen == set.end()) continue;
    const auto found = parameter.preset_defaults.find(std::get<std::string>(chosen->second));
    if (found != parameter.preset_defaults.end()) return found->second;
  }
  return parameter.default_value;
}

std::optional<std::string> without_effect(const ParameterInfo& parameter,
                                          const Description& description, const Values& set) {
  if (!parameter.only_with) return std::nullopt;
  const auto& [name, values] = *parameter.only_with;
  const auto other = std::ranges::find(description.parameters, name, &ParameterInfo::name);
  if (other == description.parameters.end()) {
    throw Error("parameter '" + parameter.name + "' depends on '" + name +
                    "', which the stage does not declare",
                Fault::internal);
  }
  const auto chosen = set.find(name);
  const std::optional<Value> value =
      chosen != set.end() ? chosen->second : default_of(*other, description, set);
  if (value && std::ranges::find(values, *value) != values.end()) return std::nullopt;
  return "has no effect " + (value ? "with " + name + " = " + to_text(*value) : "without " + name) +
         "; remove it, or set " + name + " to " + alternatives(values);
}

std::string documentation_of(const ParameterInfo& parameter) {
  std::string text = parameter.doc;
  if (parameter.only_with) {
    text += "; only with " + parameter.only_with->parameter + " = " +
            alternatives(parameter.only_with->values);
  }
  if (parameter.role != ParameterRole::setting) {
    text += "; when runs are compared: " + std::string(to_string(parameter.role));
  }
  return text;
}

FieldInfo gathered(const FieldInfo& one, const std::string& name) {
  const bool rows = !one.contract.empty() && Field<int>{one.name, one.contract}.by_row();
  if (rows || one.gathered_type.empty()) {
    throw Error("field '" + one.name + "' cannot be gathered: " +
                    (rows ? "it already holds the rows of a batch"
                          : "the type " + readable_type(one.type) + " does not define how"),
                Fault::configuration);
  }
  const std::string_view shared = shared_field_type(name);
  if (!shared.empty() && shared != one.gathered_type) {
    throw Error("field '" + one.name + "' is gathered as " + readable_type(one.gathered_type) +
                    ", but the name '" + name + "' belongs to a shared field of type " +
                    readable_type(shared) + "; use a different name",
                Fault::configuration);
  }
  FieldInfo field{name, one.gathered_type, one.gathered_contract, one.doc, {}, {}};
  if (field.contract.empty() || one.contract.empty()) return field;
  // The sizes of one value, after the rows: "*[5,2]" of an f32[N,...] is f32[N,5,2].
  const TensorContract all = TensorContract::parse(field.contract);
  const TensorContract each = TensorContract::parse(one.contract);
  if (!all.open_ended()) return field;
  field.contract = (all.element() == "*" ? each.element() : all.element()) + "[N";
  for (const std::string& dimension : each.dimensions()) field.contract += "," + dimension;
  field.contract += each.open_ended() ? ",...]" : "]";
  return field;
}

}  // namespace seam
