#include "pipeline/config/parameter_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "pipeline/config/values.hpp"
#include "pipeline/text/nearest.hpp"
#include "pipeline/text/parse.hpp"

namespace seam::host {
namespace {

template <class T>
std::optional<std::vector<T>> elements_of(const Array& array) {
  std::vector<T> elements;
  for (const Node& node : array) {
    if (const T* element = std::get_if<T>(&node.value)) {
      elements.push_back(*element);
      continue;
    }
    if constexpr (std::is_same_v<T, double>) {
      if (const auto* integer = std::get_if<std::int64_t>(&node.value)) {
        elements.push_back(static_cast<double>(*integer));
        continue;
      }
    }
    return std::nullopt;
  }
  return elements;
}

/// Converts the node to the parameter's kind; a single value is accepted as a list of one, an
/// integer as a number. Returns nullopt for any other kind.
std::optional<Value> value_for(const ParameterInfo& parameter, const Node& node) {
  const Array single{node};
  const Array& array = node.array() != nullptr ? *node.array() : single;
  const auto first = [&](auto list) -> std::optional<Value> {
    if (!list || node.array() != nullptr) return std::nullopt;
    return Value{list->front()};
  };
  const auto all = [](auto list) -> std::optional<Value> {
    if (!list) return std::nullopt;
    return Value{std::move(*list)};
  };
  switch (parameter.kind) {
    case ValueKind::boolean:
      if (const auto* flag = std::get_if<bool>(&node.value)) return Value{*flag};
      return std::nullopt;
    case ValueKind::integer:
      return first(elements_of<std::int64_t>(array));
    case ValueKind::number:
      return first(elements_of<double>(array));
    case ValueKind::text:
    case ValueKind::path:
    case ValueKind::enumeration:
    case ValueKind::reference:
      return first(elements_of<std::string>(array));
    case ValueKind::integers:
      return all(elements_of<std::int64_t>(array));
    case ValueKind::numbers:
      return all(elements_of<double>(array));
    case ValueKind::texts:
    case ValueKind::enumerations:
      return all(elements_of<std::string>(array));
  }
  return std::nullopt;
}

/// As the file writes it, short enough for a message.
std::string node_shown(const Node& node) {
  constexpr std::size_t longest = 60;
  const auto value = scalar(node);
  if (!value) return kind_of(node);
  std::string text = seam::to_text(*value);
  if (text.size() > longest) text = text.substr(0, longest) + "...";
  return text;
}

/// Suggests a correction for a value of the wrong kind.
std::string type_hint(const ParameterInfo& parameter, const Node& node) {
  const bool wants_text = parameter.kind == ValueKind::text || parameter.kind == ValueKind::path;
  if (const std::string* text = node.text()) {
    const bool number = number_in<double>(*text) && !wants_text;
    const bool flag = (*text == "true" || *text == "false") && !wants_text;
    return number || flag ? "write it without quotes" : std::string{};
  }
  const auto* number = std::get_if<double>(&node.value);
  const bool wants_integer =
      parameter.kind == ValueKind::integer || parameter.kind == ValueKind::integers;
  if (wants_integer && number != nullptr && std::nearbyint(*number) == *number) {
    return "write it without a point";
  }
  return wants_text && scalar(node) ? "write it in quotes" : std::string{};
}

std::string shown_kind(const ParameterInfo& parameter, const Node& node) {
  if (is_list(parameter.kind) && node.array() != nullptr) return "a list of lists";
  const std::string kind = kind_of(node);
  return scalar(node) && kind != "true or false" ? fmt::format("{} ({})", kind, node_shown(node))
         : scalar(node)                          ? node_shown(node)
                                                 : kind;
}

/// The first invalid element of a list, or the whole value.
const Node& wrong_element(const ParameterInfo& parameter, const Node& node) {
  if (!is_list(parameter.kind) || node.array() == nullptr) return node;
  for (const Node& element : *node.array()) {
    const auto value = value_for(parameter, element);
    if (element.array() != nullptr || !value || problem_with(parameter, *value)) return element;
  }
  return node;
}

bool is_broken(const Node& node) {
  const Array* array = node.array();
  return node.broken || (array != nullptr && std::ranges::any_of(*array, &Node::broken));
}

}  // namespace

std::optional<Value> scalar(const Node& node) {
  if (const auto* flag = std::get_if<bool>(&node.value)) return Value{*flag};
  if (const auto* integer = std::get_if<std::int64_t>(&node.value)) return Value{*integer};
  if (const auto* number = std::get_if<double>(&node.value)) return Value{*number};
  if (const std::string* text = node.text()) return Value{*text};
  return std::nullopt;
}

std::optional<Value> read_parameter_value(const Entry& key, const ParameterInfo& parameter,
                                          const std::string& owner, Findings& findings) {
  if (is_broken(key.node)) return std::nullopt;
  const std::string accepted =
      fmt::format("'{}' of {} takes {}", key.key, owner, accepted_by(parameter));
  auto value = value_for(parameter, key.node);
  if (!value) {
    const Node& culprit = wrong_element(parameter, key.node);
    findings.error("type", culprit.place, accepted + ", not " + shown_kind(parameter, culprit),
                   {type_hint(parameter, culprit)});
    return std::nullopt;
  }
  if (problem_with(parameter, *value)) {
    const Node& culprit = wrong_element(parameter, key.node);
    const bool choice = !parameter.choices.empty() && culprit.text() != nullptr;
    findings.error(choice ? "choice" : "range", culprit.place,
                   accepted + ", not " + node_shown(culprit),
                   {choice ? did_you_mean(*culprit.text(), parameter.choices) : std::string{}});
    return std::nullopt;
  }
  return value;
}

bool is_list(ValueKind kind) {
  return kind == ValueKind::integers || kind == ValueKind::numbers || kind == ValueKind::texts ||
         kind == ValueKind::enumerations;
}

}  // namespace seam::host
