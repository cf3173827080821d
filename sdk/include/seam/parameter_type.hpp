// SPDX-License-Identifier: Apache-2.0
/// How a C++ type is written in a pipeline file, for Declaration::parameter: its kind, the value of
/// a member and back, and the limits of the type.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "seam/description.hpp"

namespace seam {

template <class T>
struct ParameterType;

template <>
struct ParameterType<bool> {
  static constexpr ValueKind kind = ValueKind::boolean;
  static std::optional<Value> to_value(bool member) { return Value{member}; }
  static bool from_value(const Value& value) { return std::get<bool>(value); }
  static void limit(ParameterInfo& /*info*/) {}
};

template <class T>
requires std::is_integral_v<T>
struct ParameterType<T> {
  static constexpr ValueKind kind = ValueKind::integer;
  static std::optional<Value> to_value(T member) {
    return Value{static_cast<std::int64_t>(member)};
  }
  static T from_value(const Value& value) { return static_cast<T>(std::get<std::int64_t>(value)); }
  /// The range of the member's type; TOML integers are signed 64-bit.
  static void limit(ParameterInfo& info) {
    if constexpr (std::is_unsigned_v<T> || sizeof(T) < sizeof(std::int64_t)) {
      info.least = static_cast<double>(std::numeric_limits<T>::min());
    }
    if constexpr (sizeof(T) < sizeof(std::int64_t)) {
      info.most = static_cast<double>(std::numeric_limits<T>::max());
    }
  }
};

template <class T>
requires std::is_floating_point_v<T>
struct ParameterType<T> {
  static constexpr ValueKind kind = ValueKind::number;
  static std::optional<Value> to_value(T member) { return Value{static_cast<double>(member)}; }
  static T from_value(const Value& value) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<T>(*integer);
    return static_cast<T>(std::get<double>(value));
  }
  static void limit(ParameterInfo& /*info*/) {}
};

template <>
struct ParameterType<std::string> {
  static constexpr ValueKind kind = ValueKind::text;
  static std::optional<Value> to_value(const std::string& member) { return Value{member}; }
  static std::string from_value(const Value& value) { return std::get<std::string>(value); }
  static void limit(ParameterInfo& /*info*/) {}
};

template <>
struct ParameterType<std::filesystem::path> {
  static constexpr ValueKind kind = ValueKind::path;
  static std::optional<Value> to_value(const std::filesystem::path& member) {
    return Value{member.string()};
  }
  static std::filesystem::path from_value(const Value& value) {
    return std::get<std::string>(value);
  }
  static void limit(ParameterInfo& /*info*/) {}
};

template <class T>
struct ParameterType<std::vector<T>> {
  using Stored =
      std::conditional_t<std::is_integral_v<T>, std::int64_t,
                         std::conditional_t<std::is_floating_point_v<T>, double, std::string>>;
  static constexpr ValueKind kind = std::is_integral_v<T>         ? ValueKind::integers
                                    : std::is_floating_point_v<T> ? ValueKind::numbers
                                                                  : ValueKind::texts;
  static std::optional<Value> to_value(const std::vector<T>& member) {
    return Value{std::vector<Stored>(member.begin(), member.end())};
  }
  static std::vector<T> from_value(const Value& value) {
    std::vector<T> result;
    if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) {
      if constexpr (std::is_arithmetic_v<T>) {
        for (const std::int64_t element : *integers) result.push_back(static_cast<T>(element));
      }
    } else {
      for (const Stored& element : std::get<std::vector<Stored>>(value)) {
        result.push_back(static_cast<T>(element));
      }
    }
    return result;
  }
  static void limit(ParameterInfo& info) {
    if constexpr (std::is_integral_v<T>) ParameterType<T>::limit(info);
  }
};

template <class T>
struct ParameterType<std::optional<T>> {
  static constexpr ValueKind kind = ParameterType<T>::kind;
  static std::optional<Value> to_value(const std::optional<T>& member) {
    return member ? ParameterType<T>::to_value(*member) : std::nullopt;
  }
  static std::optional<T> from_value(const Value& value) {
    return ParameterType<T>::from_value(value);
  }
  static void limit(ParameterInfo& info) { ParameterType<T>::limit(info); }
};

}  // namespace seam
