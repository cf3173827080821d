/// The list files that pictures were read from, for reports: what a user calls the data says little
/// about which list that was.
#pragma once

#include <seam/packet.hpp>
#include <set>
#include <string>

namespace seam::stages {

/// Adds the lists that named the pictures of a batch.
inline void add_lists_of(const Packet& batch, std::set<std::string>& lists) {
  if (!batch.has(field::origins)) return;
  for (const Origin& origin : batch[field::origins]) {
    if (origin.file) lists.insert(*origin.file);
  }
}

/// "'Eval/a.txt', 'Eval/b.txt'", or "unknown".
[[nodiscard]] inline std::string listed(const std::set<std::string>& lists) {
  std::string text;
  for (const std::string& list : lists) text += (text.empty() ? "'" : ", '") + list + "'";
  return text.empty() ? "unknown" : text;
}

}  // namespace seam::stages
