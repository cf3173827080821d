#include "seam/origin.hpp"

namespace seam {

std::string Origin::text() const {
  std::string where = file ? *file : std::string();
  if (line > 0) where += ":" + std::to_string(line);
  if (where.empty()) return item.empty() ? "an unnamed origin" : item;
  return item.empty() ? where : where + " (" + item + ")";
}

}  // namespace seam
