#include "pipeline/plugins/description_json.hpp"

#include <concepts>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>

namespace seam::host {
namespace {

// Each structure becomes an array of the members that members_of() passes to `use`. The structured
// bindings name every member: a new one does not compile until it is named here. Description has a
// base class, which bindings do not allow: a new member of it must not be forgotten.

template <class T, class Structure>
concept Is = std::same_as<std::remove_const_t<T>, Structure>;

template <Is<Condition> T, class Use>
void members_of(T& condition, const Use& use) {
  auto& [parameter, values] = condition;
  use(parameter, values);
}

template <Is<ParameterInfo> T, class Use>
void members_of(T& parameter, const Use& use) {
  auto& [name, doc, unit, kind, default_value, required, least, most, choices, renamed_from,
         interface, folder_with, exists_in, initial, from_field, role, unused_with, only_with,
         is_preset, preset_defaults, assign, bind] = parameter;
  use(name, doc, unit, kind, default_value, required, least, most, choices, renamed_from, interface,
      folder_with, exists_in, initial, from_field, role, unused_with, only_with, is_preset,
      preset_defaults);
}

template <Is<FieldInfo> T, class Use>
void members_of(T& field, const Use& use) {
  auto& [name, type, contract, doc, gathered_type, gathered_contract, values, values_of] = field;
  use(name, type, contract, doc, gathered_type, gathered_contract, values, values_of);
}

template <Is<GatheredField> T, class Use>
void members_of(T& gathered, const Use& use) {
  auto& [from, name] = gathered;
  use(from, name);
}

template <Is<OfferedInterface> T, class Use>
void members_of(T& offered, const Use& use) {
  auto& [interface, target] = offered;
  use(interface);
}

template <Is<UpstreamReference> T, class Use>
void members_of(T& upstream, const Use& use) {
  auto& [interface, doc, add, clear] = upstream;
  use(interface, doc);
}

template <Is<Headline> T, class Use>
void members_of(T& headline, const Use& use) {
  auto& [metric, better] = headline;
  use(metric, better);
}

template <Is<Configured> T, class Use>
void members_of(T& configured, const Use& use) {
  auto& [needs, accepts, provides, gathers, labels_read, headlines, keeps_state, state_made_by_flow,
         replaces_packets, trains, only_writes] = configured;
  use(needs, accepts, provides, gathers, labels_read, headlines, keeps_state, state_made_by_flow,
      replaces_packets, trains, only_writes);
}

template <Is<Description> T, class Use>
void members_of(T& description, const Use& use) {
  using Base = std::conditional_t<std::is_const_v<T>, const Configured, Configured>;
  use(static_cast<Base&>(description), description.doc, description.parameters, description.offers,
      description.upstream);
}

template <Is<DescriptionCache::StageRecord> T, class Use>
void members_of(T& record, const Use& use) {
  auto& [kind, on_compute_thread, description, configured] = record;
  use(kind, on_compute_thread, description, configured);
}

template <class T, class... All>
concept OneOf = (std::same_as<T, All> || ...);

template <class T>
concept Structure =
    OneOf<T, Condition, ParameterInfo, FieldInfo, GatheredField, OfferedInterface,
          UpstreamReference, Headline, Configured, Description, DescriptionCache::StageRecord>;

template <std::size_t... positions>
Value value_at(std::size_t position, const Json& json, std::index_sequence<positions...> /*all*/) {
  Value value;
  const bool known = ((position == positions &&
                       (value = json.get<std::variant_alternative_t<positions, Value>>(), true)) ||
                      ...);
  if (!known) throw std::out_of_range("a value of no known kind");
  return value;
}

}  // namespace
}  // namespace seam::host

template <class T>
struct nlohmann::adl_serializer<T, std::enable_if_t<seam::host::Structure<T>>> {
  static void to_json(ordered_json& json, const T& value) {
    json = ordered_json::array();
    seam::host::members_of(value,
                           [&](const auto&... all) { (json.push_back(ordered_json(all)), ...); });
  }
  static void from_json(const ordered_json& json, T& value) {
    std::size_t at = 0;
    seam::host::members_of(value, [&](auto&... members) { (json.at(at++).get_to(members), ...); });
  }
};

/// [position in the variant, value]: the type of an empty list is not evident from its value.
template <>
struct nlohmann::adl_serializer<seam::Value> {
  static void to_json(ordered_json& json, const seam::Value& value) {
    json = {value.index(), std::visit([](const auto& held) { return ordered_json(held); }, value)};
  }
  static void from_json(const ordered_json& json, seam::Value& value) {
    value = seam::host::value_at(json.at(0).get<std::size_t>(), json.at(1),
                                 std::make_index_sequence<std::variant_size_v<seam::Value>>());
  }
};

template <class T>
struct nlohmann::adl_serializer<std::optional<T>> {
  static void to_json(ordered_json& json, const std::optional<T>& value) {
    json = value ? ordered_json(*value) : ordered_json();
  }
  static void from_json(const ordered_json& json, std::optional<T>& value) {
    if (!json.is_null()) json.get_to(value.emplace());
  }
};

namespace seam::host {

Json json_of(const DescriptionCache::StageRecord& record) {
  return record;
}

DescriptionCache::StageRecord record_of(const Json& json) {
  return json.get<DescriptionCache::StageRecord>();
}

}  // namespace seam::host
