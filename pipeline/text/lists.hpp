/// Short forms of standard algorithms on lists.
///
///     contains(spec.stages, "loss", &StageSpec::name)       whether there is such a stage
///     mapped(spec.stages, &StageSpec::name)                 the names of all stages
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

namespace seam::host {

/// Whether an element equals the value, or its member does.
template <class List, class Value, class Member = std::identity>
bool contains(const List& list, const Value& value, Member member = {}) {
  return std::ranges::find(list, value, member) != std::ranges::end(list);
}

/// The first element that equals the value, or whose member does; null if there is none.
template <class List, class Value, class Member = std::identity>
auto find_in(List& list, const Value& value, Member member = {}) {
  const auto found = std::ranges::find(list, value, member);
  return found == std::ranges::end(list) ? nullptr : &*found;
}

/// Appends the element unless the list has an equal one.
template <class T>
void add_unless_present(std::vector<T>& list, std::type_identity_t<T> element) {
  if (!contains(list, element)) list.push_back(std::move(element));
}

/// The function's result for each element, or the member of each.
template <class List, class Function>
auto mapped(const List& list, Function function) {
  using Element = std::invoke_result_t<Function&, decltype(*std::begin(list))>;
  std::vector<std::remove_cvref_t<Element>> result;
  for (const auto& element : list) result.push_back(std::invoke(function, element));
  return result;
}

/// The keys of a map, in its order.
template <class Map>
auto keys_in(const Map& map) {
  return mapped(map, [](const auto& entry) { return entry.first; });
}

}  // namespace seam::host
