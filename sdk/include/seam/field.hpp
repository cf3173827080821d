/// Field keys: named, typed slots of a packet.
///
///     inline constexpr seam::Field<std::string> caption{"caption"};      // a key is a constant
///     declaration.needs(caption);                                         // declares the port
///     packet[caption]                                                     // reaches the value
///
/// A typo in a key does not compile, and the host can check names and types before a run.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "seam/export.hpp"
#include "seam/image.hpp"
#include "seam/origin.hpp"

namespace seam {

/// The type's name as the compiler spells it: the identity of a field's type across libraries.
template <class T>
constexpr std::string_view type_name() {
  const std::string_view text = __PRETTY_FUNCTION__;
  const std::size_t from = text.find("T = ") + 4;
  const std::size_t to = text.find_first_of(";]", from);
  return text.substr(from, to - from);
}

/// A type's name as people write it: "std::string", not how the compiler spells it.
SEAM_EXPORT std::string readable_type(std::string_view type);

/// What the host asks of a field's value without knowing its type. Specialise it for types that
/// own memory elsewhere, so that the byte budget sees them, or that keep a contract; with
/// `static bool equal(const T&, const T&)` for types that == does not compare, and
/// `static std::int64_t rows(const T&)` for types that hold one value for each row of a batch.
template <class T>
struct FieldTraits {
  static std::size_t bytes(const T& /*value*/) { return sizeof(T); }
  /// Empty where the value keeps the contract, else what is wrong, as a clause: "it has 2 rows".
  static std::string violation(const T& /*value*/, std::string_view /*contract*/) { return {}; }
};

template <>
struct FieldTraits<Image> {
  static std::size_t bytes(const Image& value) { return sizeof(Image) + value.bytes(); }
  static std::string violation(const Image& /*value*/, std::string_view /*contract*/) { return {}; }
};

/// What is wrong with a list of that length under a contract such as "*[N]" or "*[3]".
SEAM_EXPORT std::string list_violation(std::int64_t length, std::string_view contract);

template <class T>
struct FieldTraits<std::vector<T>> {
  static std::size_t bytes(const std::vector<T>& value) {
    return sizeof(value) + value.capacity() * sizeof(T);
  }
  static std::string violation(const std::vector<T>& value, std::string_view contract) {
    return list_violation(rows(value), contract);
  }
  static std::int64_t rows(const std::vector<T>& value) {
    return static_cast<std::int64_t>(value.size());
  }
};

/// The type-erased face of FieldTraits; one instance a type and library.
struct FieldType {
  std::string_view name;
  std::size_t (*bytes)(const void* value);
  std::string (*violation)(const void* value, std::string_view contract);
  /// Null for types whose values nobody can compare.
  bool (*equal)(const void* a, const void* b);
  /// How many rows of a batch a value holds; null for types that hold no rows, negative for a value
  /// that holds none.
  std::int64_t (*rows)(const void* value);
};

/// Whether two values can be compared. Standard containers have an == whatever they hold, so what
/// they hold decides.
template <class T>
struct Comparable : std::bool_constant<std::equality_comparable<T>> {};
template <class T>
requires requires {
  &FieldTraits<T>::equal;
}
struct Comparable<T> : std::true_type {};
template <class First, class Second>
struct Comparable<std::pair<First, Second>>
    : std::conjunction<Comparable<std::remove_const_t<First>>, Comparable<Second>> {};
template <class... Ts>
struct Comparable<std::tuple<Ts...>> : std::conjunction<Comparable<Ts>...> {};
template <class T>
requires(
    requires { typename T::value_type; } &&
    !requires { &FieldTraits<T>::equal; }) struct Comparable<T>
    : Comparable<typename T::value_type> {
};

/// Whether they are the same, bit by bit: NaN equals itself, and 0 is not -0.
template <class T>
bool same_value(const T& a, const T& b) {
  if constexpr (requires { FieldTraits<T>::equal(a, b); }) {
    return FieldTraits<T>::equal(a, b);
  } else if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::array<std::byte, sizeof(T)>;
    return std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b);
  } else {
    return a == b;
  }
}
template <class T>
bool same_value(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const T& x, const T& y) { return same_value(x, y); });
}

template <class T>
constexpr auto equal_function() -> bool (*)(const void*, const void*) {
  if constexpr (Comparable<T>::value) {
    return [](const void* a, const void* b) {
      return same_value(*static_cast<const T*>(a), *static_cast<const T*>(b));
    };
  } else {
    return nullptr;
  }
}

template <class T>
constexpr auto rows_function() -> std::int64_t (*)(const void*) {
  if constexpr (requires(const T& value) { FieldTraits<T>::rows(value); }) {
    return [](const void* value) -> std::int64_t {
      return FieldTraits<T>::rows(*static_cast<const T*>(value));
    };
  } else {
    return nullptr;
  }
}

template <class T>
inline constexpr FieldType field_type{
    type_name<T>(),
    [](const void* value) { return FieldTraits<T>::bytes(*static_cast<const T*>(value)); },
    [](const void* value, std::string_view contract) {
      return FieldTraits<T>::violation(*static_cast<const T*>(value), contract);
    },
    equal_function<T>(), rows_function<T>()};

/// A key. `name` is what pipeline messages call the field; `contract` is empty or the text form of
/// a TensorContract that every value of this field keeps.
///
/// A first dimension called N is a batch's: all fields of a packet that say it have the same number
/// of rows, and the host checks that of every packet. Call another length by another letter.
template <class T>
struct Field {
  std::string_view name;
  std::string_view contract = {};

  [[nodiscard]] constexpr bool by_row() const {
    const std::size_t open = contract.find('[');
    if (open == std::string_view::npos) return false;
    const std::string_view first =
        contract.substr(open + 1, contract.find_first_of(",]", open) - open - 1);
    return first == "N";
  }
};

/// What a picture is to its group: a triplet has one of each of the last three.
enum class Role : std::uint8_t { single, anchor, positive, negative };

/// The keys that stages of different plugins share. Tensor fields are in <seam/tensor.hpp>. A stage
/// that declares one of these names with another type is refused (shared_field_type).
namespace field {

// One picture, one packet: what datasets, samplers and image stages speak.

/// The file to read.
inline constexpr Field<std::filesystem::path> path{"path"};
/// Its pixels, 8-bit RGB.
inline constexpr Field<Image> image{"image"};
/// The item's id: what is retrieved.
inline constexpr Field<std::string> item{"item"};
/// Index in the category vocabulary.
inline constexpr Field<std::int64_t> category{"category"};
/// Position in its split: the row id.
inline constexpr Field<std::int64_t> index{"index"};
/// Packets of one group stay together.
inline constexpr Field<std::int64_t> group{"group"};
/// Its part in the group.
inline constexpr Field<Role> role{"role"};

// A batch: what `batch` gathers from the packets above, row by row.

/// The `item` of each row, empty where it has none.
inline constexpr Field<std::vector<std::string>> items{"items", "*[N]"};
/// The `category` of each row, -1 where it has none.
inline constexpr Field<std::vector<std::int64_t>> categories{"categories", "*[N]"};
/// The `index` of each row, -1 where it has none.
inline constexpr Field<std::vector<std::int64_t>> indices{"indices", "*[N]"};
/// The `group` of each row, -1 where it has none: the row stands for itself.
inline constexpr Field<std::vector<std::int64_t>> groups{"groups", "*[N]"};
/// The `role` of each row, `single` where it has none.
inline constexpr Field<std::vector<Role>> roles{"roles", "*[N]"};
/// Where each row comes from, for messages.
inline constexpr Field<std::vector<Origin>> origins{"origins", "*[N]"};

}  // namespace field

/// The type that a shared field's name belongs to, or empty for a name that is free.
SEAM_EXPORT std::string_view shared_field_type(std::string_view name);

}  // namespace seam
