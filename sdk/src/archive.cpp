#include "seam/archive.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "archive_entry.hpp"
#include "seam/error.hpp"
#include "seam/shape_text.hpp"

namespace seam {
namespace {

template <class T>
Archive::Entry scalar(const char* type, const T& value) {
  Archive::Entry entry{type, {}, std::vector<std::byte>(sizeof(T))};
  std::memcpy(entry.bytes.data(), &value, sizeof(T));
  return entry;
}

template <class T>
T scalar_of(const std::string& name, const Archive::Entry& entry) {
  if (!entry.shape.empty()) {
    throw Error("saved entry '" + name + "' has shape " + shape_text(entry.shape) +
                ", but a single number is expected");
  }
  T value;
  std::memcpy(&value, entry.bytes.data(), sizeof(T));
  return value;
}

}  // namespace

std::optional<std::uint64_t> element_size(std::string_view type) {
  using Known = std::pair<std::string_view, std::uint64_t>;
  // The last five are LibTorch's names of types for which Seam has no name.
  static constexpr std::array known{
      Known{"text", 1},         Known{"bool", 1},          Known{"u8", 1},
      Known{"i32", 4},          Known{"i64", 8},           Known{"f16", 2},
      Known{"bf16", 2},         Known{"f32", 4},           Known{"f64", 8},
      Known{"Char", 1},         Known{"Short", 2},         Known{"ComplexHalf", 4},
      Known{"ComplexFloat", 8}, Known{"ComplexDouble", 16}};
  const auto* const found = std::ranges::find(known, type, &Known::first);
  if (found == known.end()) return std::nullopt;
  return found->second;
}

std::string problem_with(const Archive::Entry& entry) {
  constexpr std::size_t most_dimensions = 64;  // most LibTorch functions accept no more
  const auto element = element_size(entry.type);
  if (!element) {
    return "has elements of an unknown type '" + entry.type +
           "'; text, bool, u8, i32, i64, f16, bf16, f32 and f64 can be saved";
  }
  if (entry.shape.size() > most_dimensions) {
    return "has " + std::to_string(entry.shape.size()) + " dimensions; the maximum is 64";
  }
  // Dimensions of size 0 count as 1 here, because strides of other dimensions must not overflow
  // either.
  constexpr auto limit = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t bytes = *element;
  for (const std::int64_t size : entry.shape) {
    if (size < 0) return "has shape " + shape_text(entry.shape) + ", with a negative size";
    const auto factor = static_cast<std::uint64_t>(std::max<std::int64_t>(size, 1));
    if (bytes > limit / factor) {
      return "has shape " + shape_text(entry.shape) + ", which is more than memory can hold";
    }
    bytes *= factor;
  }
  if (std::ranges::find(entry.shape, 0) != entry.shape.end()) bytes = 0;
  if (bytes == entry.bytes.size()) return {};
  return "has " + std::to_string(entry.bytes.size()) + " bytes, but " + entry.type +
         shape_text(entry.shape) + " takes " + std::to_string(bytes);
}

void Archive::put(const std::string& name, Entry entry) {
  if (const std::string problem = problem_with(entry); !problem.empty()) {
    throw Error("saved entry '" + name + "' " + problem, Fault::internal);
  }
  entries_.insert_or_assign(name, std::move(entry));
}

void Archive::put(const std::string& name, std::int64_t value) {
  put(name, scalar("i64", value));
}

void Archive::put(const std::string& name, double value) {
  put(name, scalar("f64", value));
}

void Archive::put(const std::string& name, std::string_view text) {
  Entry entry{
      "text", {static_cast<std::int64_t>(text.size())}, std::vector<std::byte>(text.size())};
  if (!text.empty()) std::memcpy(entry.bytes.data(), text.data(), text.size());
  put(name, std::move(entry));
}

const Archive::Entry& Archive::get(const std::string& name, std::string_view type) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    std::string present;
    for (const auto& [other, entry] : entries_) {
      if (present.size() < 200) present += (present.empty() ? "" : ", ") + other;
    }
    throw Error("the saved state has no entry '" + name + "'; it has " +
                (present.empty() ? "none" : present));
  }
  if (!type.empty() && found->second.type != type) {
    throw Error("saved entry '" + name + "' is " + found->second.type + ", not " +
                std::string(type));
  }
  return found->second;
}

std::int64_t Archive::integer(const std::string& name) const {
  return scalar_of<std::int64_t>(name, get(name, "i64"));
}

double Archive::number(const std::string& name) const {
  return scalar_of<double>(name, get(name, "f64"));
}

std::string Archive::text(const std::string& name) const {
  const Entry& entry = get(name, "text");
  if (entry.shape.size() != 1) {
    throw Error("saved entry '" + name + "' has shape " + shape_text(entry.shape) +
                ", but a string has one dimension");
  }
  return {reinterpret_cast<const char*>(entry.bytes.data()), entry.bytes.size()};
}

}  // namespace seam
