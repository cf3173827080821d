/// Numbers as one entry of an archive, for stages that do without LibTorch.
#pragma once

#include <cstring>
#include <seam/archive.hpp>
#include <utility>

namespace seam::stages {

inline void put_numbers(Archive& archive, const std::string& name,
                        const std::vector<std::int64_t>& numbers) {
  Archive::Entry entry{"i64",
                       {static_cast<std::int64_t>(numbers.size())},
                       std::vector<std::byte>(numbers.size() * sizeof(std::int64_t))};
  if (!numbers.empty()) std::memcpy(entry.bytes.data(), numbers.data(), entry.bytes.size());
  archive.put(name, std::move(entry));
}

/// Throws seam::Error if there is no such entry or it has a different type.
[[nodiscard]] inline std::vector<std::int64_t> numbers_in(const Archive& archive,
                                                          const std::string& name) {
  const Archive::Entry& entry = archive.get(name, "i64");
  std::vector<std::int64_t> numbers(entry.bytes.size() / sizeof(std::int64_t));
  if (!numbers.empty()) std::memcpy(numbers.data(), entry.bytes.data(), entry.bytes.size());
  return numbers;
}

}  // namespace seam::stages
