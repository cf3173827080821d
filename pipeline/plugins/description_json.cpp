#include "pipeline/plugins/description_json.hpp"

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace seam::host {
namespace {

// The structured bindings below name every member: a new one does not compile until it is written
// and read here.

template <class List, class Write>
Json list_json(const List& list, const Write& write) {
  Json json = Json::array();
  for (const auto& element : list) json.push_back(write(element));
  return json;
}

template <class T, class Read>
std::vector<T> list_of(const Json& json, const Read& read) {
  std::vector<T> list;
  list.reserve(json.size());
  for (const Json& element : json) list.push_back(read(element));
  return list;
}

template <class T>
Json optional_json(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

template <class T>
std::optional<T> optional_of(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return json.get<T>();
}

/// [position in the variant, value]: the type of an empty list is not evident from its value.
Json value_json(const Value& value) {
  return Json::array(
      {value.index(), std::visit([](const auto& held) { return Json(held); }, value)});
}

template <std::size_t... positions>
Value value_at(std::size_t position, const Json& json, std::index_sequence<positions...> /*all*/) {
  Value value;
  const bool known = ((position == positions &&
                       (value = json.get<std::variant_alternative_t<positions, Value>>(), true)) ||
                      ...);
  if (!known) throw std::out_of_range("a value of no known kind");
  return value;
}

Value value_of(const Json& json) {
  return value_at(json.at(0).get<std::size_t>(), json.at(1),
                  std::make_index_sequence<std::variant_size_v<Value>>());
}

Json optional_value_json(const std::optional<Value>& value) {
  return value ? value_json(*value) : Json();
}

std::optional<Value> optional_value_of(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(value_of(json));
}

Json condition_json(const std::optional<Condition>& condition) {
  if (!condition) return {};
  const auto& [parameter, values] = *condition;
  return {{"parameter", parameter}, {"values", list_json(values, value_json)}};
}

std::optional<Condition> condition_of(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return Condition{json.at("parameter"), list_of<Value>(json.at("values"), value_of)};
}

Json defaults_json(const std::map<std::string, std::optional<Value>>& defaults) {
  Json json = Json::object();
  for (const auto& [preset, value] : defaults) json[preset] = optional_value_json(value);
  return json;
}

Json parameter_json(const ParameterInfo& parameter) {
  const auto& [name, doc, unit, kind, default_value, required, least, most, choices, renamed_from,
               interface, folder_with, exists_in, initial, only_with, is_preset, preset_defaults,
               assign, bind] = parameter;
  return {{"name", name},
          {"doc", doc},
          {"unit", unit},
          {"kind", kind},
          {"default", optional_value_json(default_value)},
          {"required", required},
          {"least", optional_json(least)},
          {"most", optional_json(most)},
          {"choices", choices},
          {"renamed_from", renamed_from},
          {"interface", interface},
          {"folder_with", optional_json(folder_with)},
          {"exists_in", optional_json(exists_in)},
          {"initial", initial},
          {"only_with", condition_json(only_with)},
          {"is_preset", is_preset},
          {"preset_defaults", defaults_json(preset_defaults)}};
}

ParameterInfo parameter_of(const Json& json) {
  ParameterInfo parameter;
  auto& [name, doc, unit, kind, default_value, required, least, most, choices, renamed_from,
         interface, folder_with, exists_in, initial, only_with, is_preset, preset_defaults, assign,
         bind] = parameter;
  json.at("name").get_to(name);
  json.at("doc").get_to(doc);
  json.at("unit").get_to(unit);
  json.at("kind").get_to(kind);
  default_value = optional_value_of(json.at("default"));
  json.at("required").get_to(required);
  least = optional_of<double>(json.at("least"));
  most = optional_of<double>(json.at("most"));
  json.at("choices").get_to(choices);
  json.at("renamed_from").get_to(renamed_from);
  json.at("interface").get_to(interface);
  folder_with = optional_of<std::vector<std::string>>(json.at("folder_with"));
  exists_in = optional_of<std::string>(json.at("exists_in"));
  json.at("initial").get_to(initial);
  only_with = condition_of(json.at("only_with"));
  json.at("is_preset").get_to(is_preset);
  for (const auto& [preset, value] : json.at("preset_defaults").items()) {
    preset_defaults[preset] = optional_value_of(value);
  }
  return parameter;
}

Json field_json(const FieldInfo& field) {
  const auto& [name, type, contract, doc, gathered_type, gathered_contract, values, values_of] =
      field;
  return Json::array(
      {name, type, contract, doc, gathered_type, gathered_contract, values, values_of});
}

FieldInfo field_of(const Json& json) {
  return {json.at(0), json.at(1), json.at(2), json.at(3),
          json.at(4), json.at(5), json.at(6), json.at(7)};
}

Json gathered_json(const GatheredField& gathered) {
  const auto& [from, name] = gathered;
  return Json::array({from, name});
}

Json offered_json(const OfferedInterface& offered) {
  const auto& [interface, target] = offered;
  return interface;
}

Json upstream_json(const UpstreamReference& upstream) {
  const auto& [interface, doc, add, clear] = upstream;
  return {{"interface", interface}, {"doc", doc}};
}

Json headline_json(const Headline& headline) {
  const auto& [metric, better] = headline;
  return Json::array({metric, better});
}

Json configured_json(const Configured& configured) {
  const auto& [needs, accepts, provides, gathers, labels_read, headlines, keeps_state,
               state_made_by_flow, replaces_packets, trains] = configured;
  return {{"needs", list_json(needs, field_json)},
          {"accepts", list_json(accepts, field_json)},
          {"provides", list_json(provides, field_json)},
          {"gathers", list_json(gathers, gathered_json)},
          {"labels_read", labels_read},
          {"headlines", list_json(headlines, headline_json)},
          {"keeps_state", keeps_state},
          {"state_made_by_flow", state_made_by_flow},
          {"replaces_packets", replaces_packets},
          {"trains", trains}};
}

Configured configured_of(const Json& json) {
  Configured configured;
  auto& [needs, accepts, provides, gathers, labels_read, headlines, keeps_state, state_made_by_flow,
         replaces_packets, trains] = configured;
  needs = list_of<FieldInfo>(json.at("needs"), field_of);
  accepts = list_of<FieldInfo>(json.at("accepts"), field_of);
  provides = list_of<FieldInfo>(json.at("provides"), field_of);
  gathers = list_of<GatheredField>(json.at("gathers"), [](const Json& gathered) {
    return GatheredField{gathered.at(0), gathered.at(1)};
  });
  json.at("labels_read").get_to(labels_read);
  headlines = list_of<Headline>(json.at("headlines"), [](const Json& headline) {
    return Headline{headline.at(0), headline.at(1).get<Better>()};
  });
  json.at("keeps_state").get_to(keeps_state);
  json.at("state_made_by_flow").get_to(state_made_by_flow);
  json.at("replaces_packets").get_to(replaces_packets);
  json.at("trains").get_to(trains);
  return configured;
}

}  // namespace

Json json_of(const DescriptionCache::StageRecord& record) {
  const auto& [kind, on_compute_thread, description, configured] = record;
  Json by_values = Json::object();
  for (const auto& [values, one] : configured) by_values[values] = configured_json(one);
  return {{"kind", kind},
          {"compute_thread", on_compute_thread},
          {"doc", description.doc},
          {"parameters", list_json(description.parameters, parameter_json)},
          {"offers", list_json(description.offers, offered_json)},
          {"upstream", list_json(description.upstream, upstream_json)},
          {"unconfigured", configured_json(description)},
          {"configured", std::move(by_values)}};
}

DescriptionCache::StageRecord record_of(const Json& json) {
  DescriptionCache::StageRecord record;
  auto& [kind, on_compute_thread, description, configured] = record;
  json.at("kind").get_to(kind);
  json.at("compute_thread").get_to(on_compute_thread);
  static_cast<Configured&>(description) = configured_of(json.at("unconfigured"));
  json.at("doc").get_to(description.doc);
  description.parameters = list_of<ParameterInfo>(json.at("parameters"), parameter_of);
  description.offers = list_of<OfferedInterface>(json.at("offers"), [](const Json& offered) {
    return OfferedInterface{offered, nullptr};
  });
  description.upstream = list_of<UpstreamReference>(json.at("upstream"), [](const Json& upstream) {
    return UpstreamReference{upstream.at("interface"), upstream.at("doc"), {}, {}};
  });
  for (const auto& [values, one] : json.at("configured").items()) {
    configured[values] = configured_of(one);
  }
  return record;
}

}  // namespace seam::host
