/// Lists of texts in a stage's saved state: one behind the other, each with an end of its own.
#pragma once

#include <cstddef>
#include <seam/error.hpp>
#include <string>
#include <vector>

namespace seam::stages {

inline constexpr char end_of_packed_text = '\0';

/// The texts that `text` gives for the values.
template <class Values, class Text>
[[nodiscard]] std::string packed_texts(const Values& values, const Text& text) {
  std::string all;
  for (const auto& value : values) all += text(value) + end_of_packed_text;
  return all;
}

/// Throws seam::Error naming what was saved where the last text has no end.
[[nodiscard]] inline std::vector<std::string> unpacked_texts(const std::string& all,
                                                             const std::string& saved) {
  std::vector<std::string> texts;
  for (std::size_t from = 0; from < all.size();) {
    const std::size_t end = all.find(end_of_packed_text, from);
    if (end == std::string::npos)
      throw Error("a list of texts of the saved " + saved + " has no end");
    texts.push_back(all.substr(from, end - from));
    from = end + 1;
  }
  return texts;
}

}  // namespace seam::stages
