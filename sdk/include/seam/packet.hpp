// SPDX-License-Identifier: Apache-2.0
/// The unit of data on an edge: a sequence number, an origin and named, typed fields.
///
///     packet 17  from list.txt:19
///       path  ──► filesystem::path
///       image ──► seam::Image         copying a packet copies these handles, not the values
///       item  ──► std::string
///
/// Values are copied on write: a packet that shares a value with another gets its own before
/// `operator[]` hands out a reference to change it. A value that is itself a handle (an Image, a
/// tensor) then still shares its data: clone() it before writing into it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "seam/error.hpp"
#include "seam/field.hpp"
#include "seam/origin.hpp"

namespace seam {

class SEAM_EXPORT Packet {
 public:
  /// One field and its value, for code that treats all fields alike.
  struct Slot {
    std::string_view name;
    const FieldType* type = nullptr;
    std::shared_ptr<void> value;
    bool by_row = false;  ///< Field::by_row() of its key
  };

  Packet() = default;
  explicit Packet(Origin origin) : origin_(std::move(origin)) {}

  /// Position in its flow: consecutive from 0 after each source or collector, the same for any
  /// number of threads. The host sets it.
  [[nodiscard]] std::uint64_t sequence() const { return sequence_; }
  void set_sequence(std::uint64_t sequence) { sequence_ = sequence; }

  [[nodiscard]] const Origin& origin() const { return origin_; }
  void set_origin(Origin origin) { origin_ = std::move(origin); }

  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  template <class T>
  [[nodiscard]] bool has(const Field<T>& key) const {
    return has(key.name);
  }

  /// The value to read. Throws seam::Error with the name of the field and those present.
  template <class T>
  [[nodiscard]] const T& get(const Field<T>& key) const {
    const Slot* slot = find(key.name);
    if (slot == nullptr || !holds<T>(*slot)) refuse(key.name, type_name<T>());
    return *static_cast<const T*>(slot->value.get());
  }
  template <class T>
  [[nodiscard]] const T& operator[](const Field<T>& key) const {
    return get(key);
  }

  /// The value to change; created with T() if the field does not exist.
  template <class T>
  [[nodiscard]] T& operator[](const Field<T>& key) {
    Slot* slot = find(key.name);
    if (slot == nullptr) {
      slots_.push_back({key.name, &field_type<T>, std::make_shared<T>(), key.by_row()});
      return *static_cast<T*>(slots_.back().value.get());
    }
    if (!holds<T>(*slot)) refuse(key.name, type_name<T>());
    if (is_shared(slot->value)) {
      slot->value = std::make_shared<T>(*static_cast<const T*>(slot->value.get()));
    }
    return *static_cast<T*>(slot->value.get());
  }

  /// Sets a field without reading its old value. An integer field accepts no fractions.
  template <class T, class U = T>
  requires(std::is_convertible_v<U, T> &&
           !(std::is_integral_v<T> &&
             std::is_floating_point_v<std::remove_cvref_t<U>>)) void set(const Field<T>& key,
                                                                         U&& value) {
    put({key.name, &field_type<T>, std::make_shared<T>(static_cast<T>(std::forward<U>(value))),
         key.by_row()});
  }

  /// Frees a field early, such as pixels that a batch has copied.
  template <class T>
  void erase(const Field<T>& key) {
    erase(key.name);
  }
  void erase(std::string_view name);

  [[nodiscard]] const std::vector<Slot>& slots() const { return slots_; }
  /// Adds or replaces a field by its slot; how the host joins branches.
  void put(Slot slot);

  /// Empty if all fields of the batch have the same number of rows, otherwise the counts:
  /// "'embedding' has 16 rows and 'indices' has 15".
  [[nodiscard]] std::string row_mismatch() const;

  /// Memory of all values according to their FieldTraits.
  [[nodiscard]] std::size_t bytes() const;

 private:
  /// Each library has its own type instances, so types of other libraries are compared by name.
  template <class T>
  [[nodiscard]] static bool holds(const Slot& slot) {
    return slot.type == &field_type<T> || slot.type->name == field_type<T>.name;
  }
  [[nodiscard]] const Slot* find(std::string_view name) const {
    for (const Slot& slot : slots_) {
      if (slot.name == name) return &slot;
    }
    return nullptr;
  }
  [[nodiscard]] Slot* find(std::string_view name) {
    return const_cast<Slot*>(std::as_const(*this).find(name));  // *this is not const here
  }
  /// If it returns false, all accesses of former owners in any thread happen before.
  [[nodiscard]] static bool is_shared(const std::shared_ptr<void>& value);
  [[noreturn]] void refuse(std::string_view name, std::string_view wanted_type) const;

  std::uint64_t sequence_ = 0;
  Origin origin_;
  std::vector<Slot> slots_;
};

}  // namespace seam
