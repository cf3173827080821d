/// Lists of strings in a stage's saved state: one after the other, each terminated.
#pragma once

#include <cstddef>
#include <seam/error.hpp>

namespace seam::stages {

inline constexpr char end_of_packed_text = '\0';

/// Returns the strings that `text` gives for the values.
template <class Values, class Text>
[[nodiscard]] std::string packed_texts(const Values& values, const Text& text) {
  std::string all;
  for (const auto& value : values) all += text(value) + end_of_packed_text;
  return all;
}

/// Throws seam::Error naming `saved` if the last string is not terminated.
[[nodiscard]] inline std::vector<std::string> unpacked_texts(const std::string& all,
                                                             const std::string& saved) {
  std::vector<std::string> texts;
  for (std::size_t from = 0; from < all.size();) {
    const std::size_t end = all.find(end_of_packed_text, from);
    if (end == std::string::npos)
      throw Error("a list of strings of the saved " + saved + " has no end");
    texts.push_back(all.substr(from, end - from));
    from = end + 1;
  }
  return texts;
}

}  // namespace seam::stages
