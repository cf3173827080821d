/// Whether a name in a list stays within the data set: "img/a.jpg" does; "/a.jpg", "../a.jpg" and
/// "img//a.jpg" do not.
#pragma once

#include <cstddef>
#include <string_view>

namespace seam::stages {

[[nodiscard]] inline bool stays_below_root(std::string_view path) {
  while (true) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace seam::stages
