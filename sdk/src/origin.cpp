#include "seam/origin.hpp"

#include <string_view>

namespace seam {

std::string Origin::text() const {
  std::string where = file ? *file : std::string();
  if (line > 0) where += ":" + std::to_string(line);
  if (where.empty()) return item.empty() ? "an unnamed origin" : item;
  return item.empty() ? where : where + " (" + item + ")";
}

bool operator==(const Origin& a, const Origin& b) {
  const auto name = [](const Origin& origin) {
    return origin.file ? std::string_view(*origin.file) : std::string_view();
  };
  return a.line == b.line && a.item == b.item && name(a) == name(b);
}

}  // namespace seam
