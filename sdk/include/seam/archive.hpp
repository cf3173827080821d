// SPDX-License-Identifier: Apache-2.0
/// A stage's saved state: named entries with type and shape, so that a checkpoint of a different
/// architecture can be rejected with the entry that differs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "seam/export.hpp"

namespace seam {

class SEAM_EXPORT Archive {
 public:
  struct Entry {
    std::string type;                 ///< "f32", "i64", "text", ...: the type of the elements
    std::vector<std::int64_t> shape;  ///< empty for a scalar
    std::vector<std::byte> bytes;     ///< in this machine's byte order

    friend bool operator==(const Entry&, const Entry&) = default;
  };

  /// Throws seam::Error (internal) if the number of bytes does not match the type and shape, so
  /// that readers of an entry need not check it again.
  void put(const std::string& name, Entry entry);
  void put(const std::string& name, std::int64_t value);
  void put(const std::string& name, double value);
  void put(const std::string& name, std::string_view text);

  [[nodiscard]] bool has(const std::string& name) const { return entries_.contains(name); }
  /// Returns the entry. Throws seam::Error with its name, type and shape and what was found
  /// instead. An empty `type` accepts any.
  [[nodiscard]] const Entry& get(const std::string& name, std::string_view type = {}) const;
  [[nodiscard]] std::int64_t integer(const std::string& name) const;
  [[nodiscard]] double number(const std::string& name) const;
  [[nodiscard]] std::string text(const std::string& name) const;

  [[nodiscard]] const std::map<std::string, Entry>& entries() const { return entries_; }
  [[nodiscard]] bool empty() const { return entries_.empty(); }

  friend bool operator==(const Archive&, const Archive&) = default;

 private:
  std::map<std::string, Entry> entries_;
};

}  // namespace seam
