#include "seam/archive.hpp"

#include <cstring>
#include <utility>

#include "seam/error.hpp"

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
  if (entry.bytes.size() != sizeof(T)) {
    throw Error("saved entry '" + name + "' has " + std::to_string(entry.bytes.size()) +
                " bytes, not " + std::to_string(sizeof(T)));
  }
  T value;
  std::memcpy(&value, entry.bytes.data(), sizeof(T));
  return value;
}

}  // namespace

void Archive::put(const std::string& name, Entry entry) {
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
  return {reinterpret_cast<const char*>(entry.bytes.data()), entry.bytes.size()};
}

}  // namespace seam
