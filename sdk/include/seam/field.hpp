// SPDX-License-Identifier: Apache-2.0
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
#include <memory>
#include <span>
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

/// The type's name as the compiler spells it.
template <class T>
constexpr std::string_view spelled_type() {
  const std::string_view text = __PRETTY_FUNCTION__;
  const std::size_t from = text.find("T = ") + 4;
  const std::size_t to = text.find_first_of(";]", from);
  return text.substr(from, to - from);
}

/// A string built at compile time.
template <std::size_t most>
struct ShortText {
  std::array<char, most> text{};
  std::size_t size = 0;
};

/// Removes ", std::allocator<...>" and blanks before '>': GCC includes or omits default template
/// arguments, depending on how the source mentions the type first. Also removes "seam::", which
/// only Clang writes.
template <class T>
constexpr auto plain_type() {
  constexpr std::string_view spelled = spelled_type<T>();
  constexpr std::string_view allocator = ", std::allocator<";
  constexpr std::string_view seam = "seam::";
  ShortText<spelled.size() + 1> plain;
  for (std::size_t at = 0; at < spelled.size(); ++at) {
    while (spelled.substr(at, allocator.size()) == allocator) {
      at += allocator.size();
      for (int open = 1; open > 0; ++at)
        open += spelled[at] == '<' ? 1 : spelled[at] == '>' ? -1 : 0;
    }
    const bool begins = at == 0 || spelled[at - 1] == '<' || spelled[at - 1] == ' ';
    if (begins && spelled.substr(at, seam.size()) == seam) at += seam.size();
    if (at >= spelled.size()) break;
    if (spelled[at] == ' ' && at + 1 < spelled.size() && spelled[at + 1] == '>') continue;
    plain.text[plain.size++] = spelled[at];
  }
  return plain;
}
template <class T>
inline constexpr auto plain_type_text = plain_type<T>();

/// The identity of a field's type across libraries.
template <class T>
constexpr std::string_view type_name() {
  constexpr std::string_view name{plain_type_text<T>.text.data(), plain_type_text<T>.size};
  static_assert(name.find("anonymous") == std::string_view::npos,
                "a type in an unnamed namespace has the same name in each library, although it is "
                "a different type; give its namespace a unique name");
  return name;
}

/// A type's usual name: "std::string", not the compiler's spelling.
SEAM_EXPORT std::string readable_type(std::string_view type);

/// The numbers of a value: a batch gathers those of N values into one tensor.
struct NumberView {
  std::string_view element;         ///< "f32", "i64", ...: as in contracts
  std::vector<std::int64_t> sizes;  ///< none: a single number
  const void* data = nullptr;       ///< row by row, valid as long as the value
};

/// The element type of a numeric C++ type, or empty.
template <class T>
constexpr std::string_view number_element() {
  if constexpr (std::is_same_v<T, bool>) {
    return "bool";
  } else if constexpr (std::is_same_v<T, float>) {
    return "f32";
  } else if constexpr (std::is_same_v<T, double>) {
    return "f64";
  } else if constexpr (std::is_same_v<T, std::uint8_t>) {
    return "u8";
  } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T> &&
                       !std::is_same_v<T, wchar_t>) {
    return sizeof(T) == 8 ? "i64" : sizeof(T) == 4 ? "i32" : "";
  } else {
    return {};
  }
}

/// Numbers, and arrays of arrays of them.
template <class T>
struct NumberLayout {
  static constexpr std::string_view element = number_element<T>();
  static void add_sizes(std::vector<std::int64_t>& /*sizes*/) {}
};
template <class T, std::size_t count>
struct NumberLayout<std::array<T, count>> {
  static constexpr std::string_view element = NumberLayout<T>::element;
  static void add_sizes(std::vector<std::int64_t>& sizes) {
    sizes.push_back(static_cast<std::int64_t>(count));
    NumberLayout<T>::add_sizes(sizes);
  }
};
/// The type of a list's rows.
template <class T>
struct ListedNumbers {
  static constexpr std::string_view element = "*";
};
template <class T>
struct ListedNumbers<std::vector<T>> : NumberLayout<T> {};
template <class T>
concept HasNumberLayout = !NumberLayout<T>::element.empty();

/// The operations that the host needs on field values of any type. Specialise this template for
/// types that own memory elsewhere (counted in the byte limit) or have a contract. Add a static
/// `bool equal(const T&, const T&)` for types that == does not compare, a static
/// `std::int64_t rows(const T&)` for types with one value per row of a batch, a static
/// `T slice(const T&, std::int64_t first, std::int64_t rows)` for those that networks read in
/// lanes, and a static `std::uint64_t version(const T&)` for handles that count writes into the
/// data they share.
///
/// N values of images are gathered into one of a batch by the first of these that exists:
/// - `static U gather(std::span<const T* const>)` makes it;
/// - `static NumberView numbers(const T&)`: a tensor with one row per value, as for numbers and
///   std::array and std::vector of numbers. All values of a tensor have the same sizes;
/// - else a std::vector<T>.
/// `static constexpr std::string_view gathered_contract` narrows the contract of the result:
/// "f32[N,5,2]".
template <class T>
struct FieldTraits {
  static std::size_t bytes(const T& /*value*/) { return sizeof(T); }
  /// Empty if the value satisfies the contract, otherwise the problem as a clause: "it has 2 rows".
  static std::string violation(const T& /*value*/, std::string_view /*contract*/) { return {}; }
  static NumberView numbers(const T& value) requires HasNumberLayout<T> {
    NumberView numbers{NumberLayout<T>::element, {}, &value};
    NumberLayout<T>::add_sizes(numbers.sizes);
    return numbers;
  }
};

/// How the image violates a contract such as "u8[32,32,3]" (height, width, channels), or an empty
/// string.
SEAM_EXPORT std::string image_violation(const Image& image, std::string_view contract);

template <>
struct FieldTraits<Image> {
  static std::size_t bytes(const Image& value) { return sizeof(Image) + value.bytes(); }
  static std::string violation(const Image& value, std::string_view contract) {
    return image_violation(value, contract);
  }
};

/// The problem of a list of that length under a contract such as "*[N]" or "*[3]".
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
  static std::vector<T> slice(const std::vector<T>& value, std::int64_t first, std::int64_t rows) {
    return {value.begin() + first, value.begin() + first + rows};
  }
  static NumberView numbers(const std::vector<T>& value) requires(HasNumberLayout<T> &&
                                                                  !std::is_same_v<T, bool>) {
    NumberView numbers{NumberLayout<T>::element, {rows(value)}, value.data()};
    NumberLayout<T>::add_sizes(numbers.sizes);
    return numbers;
  }
};

struct FieldType;

/// A value of a type that its holder does not know.
struct AnyValue {
  const FieldType* type = nullptr;
  std::shared_ptr<void> value;
};

/// How values of images are gathered into one of a batch, type-erased.
struct Gathering {
  std::string_view type;  ///< type of the result; empty for types that cannot be gathered
  /// Not null: the result is a tensor, which the caller creates.
  NumberView (*numbers)(const void* value) = nullptr;
  /// Otherwise this creates the result, from at least one value, all of the type.
  AnyValue (*gather)(std::span<const void* const> values) = nullptr;
};

/// Type-erased FieldTraits; one instance per type and library.
struct FieldType {
  std::string_view name;
  std::size_t (*bytes)(const void* value);
  std::string (*violation)(const void* value, std::string_view contract);
  /// Null for types whose values cannot be compared.
  bool (*equal)(const void* a, const void* b);
  /// The number of batch rows in a value; null for types without rows, negative for a value without
  /// rows.
  std::int64_t (*rows)(const void* value);
  /// The number of writes into the data that a value refers to; null for types without a count.
  std::uint64_t (*version)(const void* value);
  Gathering gathering = {};
  /// Copies some rows of a value; null for types that cannot be cut.
  std::shared_ptr<void> (*slice)(const void* value, std::int64_t first,
                                 std::int64_t rows) = nullptr;
};

/// Whether two values can be compared. Standard containers always have an ==, so their element type
/// decides.
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

/// Whether they are bit-identical: NaN equals itself, and 0 differs from -0.
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
concept GathersItself = requires(std::span<const T* const> values) {
  FieldTraits<T>::gather(values);
};
template <class T>
concept HasNumbers = requires(const T& value) {
  FieldTraits<T>::numbers(value);
};
/// Ends the recursion: lists of lists cannot be gathered into a further list.
template <class T>
struct Listable : std::is_copy_constructible<T> {};
template <class T>
struct Listable<std::vector<std::vector<T>>> : std::false_type {};

template <class T>
constexpr Gathering gathering_of();

/// The contract of N gathered values, as far as their type defines it.
template <class T>
std::string gathered_contract() {
  if constexpr (requires { FieldTraits<T>::gathered_contract; }) {
    return std::string(FieldTraits<T>::gathered_contract);
  } else if constexpr (GathersItself<T>) {
    using U = decltype(FieldTraits<T>::gather(std::span<const T* const>()));
    return requires(const U& value) {
      FieldTraits<U>::rows(value);
    }
    ? "*[N,...]" : "";
  } else if constexpr (HasNumberLayout<T>) {
    std::vector<std::int64_t> sizes;
    NumberLayout<T>::add_sizes(sizes);
    std::string text = std::string(NumberLayout<T>::element) + "[N";
    for (const std::int64_t size : sizes) text += "," + std::to_string(size);
    return text + "]";
  } else if constexpr (HasNumbers<T>) {
    return std::string(ListedNumbers<T>::element) + "[N,...]";
  } else {
    return "*[N]";
  }
}

template <class T>
constexpr FieldType field_type_of() {
  using Traits = FieldTraits<T>;
  FieldType type{type_name<T>(),
                 [](const void* value) { return Traits::bytes(*static_cast<const T*>(value)); },
                 [](const void* value, std::string_view contract) {
                   return Traits::violation(*static_cast<const T*>(value), contract);
                 },
                 nullptr,
                 nullptr,
                 nullptr,
                 gathering_of<T>(),
                 nullptr};
  if constexpr (Comparable<T>::value) {
    type.equal = [](const void* a, const void* b) {
      return same_value(*static_cast<const T*>(a), *static_cast<const T*>(b));
    };
  }
  if constexpr (requires(const T& value) { Traits::rows(value); }) {
    type.rows = [](const void* value) -> std::int64_t {
      return Traits::rows(*static_cast<const T*>(value));
    };
  }
  if constexpr (requires(const T& value) { Traits::version(value); }) {
    type.version = [](const void* value) -> std::uint64_t {
      return Traits::version(*static_cast<const T*>(value));
    };
  }
  if constexpr (requires(const T& value) { Traits::slice(value, 0, 0); }) {
    type.slice = [](const void* value, std::int64_t first, std::int64_t rows) {
      return std::shared_ptr<void>(
          std::make_shared<T>(Traits::slice(*static_cast<const T*>(value), first, rows)));
    };
  }
  return type;
}
template <class T>
inline constexpr FieldType field_type = field_type_of<T>();

template <class T>
constexpr Gathering gathering_of() {
  if constexpr (GathersItself<T>) {
    using U = decltype(FieldTraits<T>::gather(std::span<const T* const>()));
    return {type_name<U>(), nullptr, [](std::span<const void* const> values) -> AnyValue {
              std::vector<const T*> typed;
              typed.reserve(values.size());
              for (const void* value : values) typed.push_back(static_cast<const T*>(value));
              return {
                  &field_type<U>,
                  std::make_shared<U>(FieldTraits<T>::gather(std::span<const T* const>(typed)))};
            }};
  } else if constexpr (HasNumbers<T>) {
    // By name, because this header does not depend on LibTorch.
    return {
        "at::Tensor",
        [](const void* value) { return FieldTraits<T>::numbers(*static_cast<const T*>(value)); },
        nullptr};
  } else if constexpr (Listable<T>::value) {
    return {type_name<std::vector<T>>(), nullptr,
            [](std::span<const void* const> values) -> AnyValue {
              auto list = std::make_shared<std::vector<T>>();
              list->reserve(values.size());
              for (const void* value : values) list->push_back(*static_cast<const T*>(value));
              return {&field_type<std::vector<T>>, std::move(list)};
            }};
  } else {
    return {};
  }
}

/// Returns the name with the lifetime of the program. Keys and packets keep views of names, which
/// usually are constants; a stage whose parameters name its fields calls this once per field.
SEAM_EXPORT std::string_view lasting_name(std::string_view name);

/// A key. `name` is the field's name in messages; `contract` is empty or the text form of a
/// TensorContract that every value of this field satisfies.
///
/// A first dimension named N is that of the batch: all fields of a packet with it have the same
/// number of rows, which the host checks for every packet. Use a different letter for other
/// lengths.
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

/// Role of an image in its group; a triplet has one of each of the last three roles.
enum class Role : std::uint8_t { single, anchor, positive, negative };

/// Names of tensor fields that stages of different plugins share, for code without LibTorch.
namespace field_name {

inline constexpr std::string_view class_lengths = "class_lengths";
inline constexpr std::string_view logits = "logits";
inline constexpr std::string_view predicted_category = "predicted_category";
inline constexpr std::string_view loss = "loss";

}  // namespace field_name

/// The keys that stages of different plugins share. Tensor fields are in <seam/tensor.hpp>. A stage
/// that declares one of these names with a different type is rejected (shared_field_type).
namespace field {

// One image per packet: the fields of data sets, samplers and image stages.

/// The file to read.
inline constexpr Field<std::filesystem::path> path{"path"};
/// Its pixels, 8-bit RGB. A stage that sets the size provides "u8[32,32,3]"; one that keeps it
/// needs and provides "u8[H,W,C]".
inline constexpr Field<Image> image{"image"};
/// The id of the item to retrieve.
inline constexpr Field<std::string> item{"item"};
/// Index in the category vocabulary.
inline constexpr Field<std::int64_t> category{"category"};
/// Position in its split: the row id.
inline constexpr Field<std::int64_t> index{"index"};
/// Packets of one group stay together.
inline constexpr Field<std::int64_t> group{"group"};
/// The number of images in the complete group, such as 3 for a triplet: `batch` drops a group that
/// lost one. Without it, a group may have any size.
inline constexpr Field<std::int64_t> group_size{"group_size"};
/// Its role in the group.
inline constexpr Field<Role> role{"role"};

// A batch, gathered by `batch` from the packets above, row by row.

/// The `item` of each row; empty if it has none.
inline constexpr Field<std::vector<std::string>> items{"items", "*[N]"};
/// The `category` of each row; -1 if it has none.
inline constexpr Field<std::vector<std::int64_t>> categories{"categories", "*[N]"};
/// The `index` of each row; -1 if it has none.
inline constexpr Field<std::vector<std::int64_t>> indices{"indices", "*[N]"};
/// The `group` of each row; -1 if it has none, so that the row is its own group.
inline constexpr Field<std::vector<std::int64_t>> groups{"groups", "*[N]"};
/// The `role` of each row; `single` if it has none.
inline constexpr Field<std::vector<Role>> roles{"roles", "*[N]"};
/// Where each row comes from, for messages.
inline constexpr Field<std::vector<Origin>> origins{"origins", "*[N]"};

}  // namespace field

/// The type of the shared field with that name, or empty if there is none.
SEAM_EXPORT std::string_view shared_field_type(std::string_view name);

}  // namespace seam
