#include "pipeline/run/cgroup.hpp"

#include <fstream>
#include <sstream>
#include <string>

namespace seam::host {
namespace fs = std::filesystem;
namespace {

void keep_least(std::optional<double>& least, std::optional<double> limit) {
  if (limit && (!least || *limit < *least)) least = limit;
}

std::optional<double> tightest(const fs::path& top, const fs::path& group,
                               const GroupLimit& limit) {
  std::optional<double> least;
  fs::path below = group.relative_path();
  while (true) {
    keep_least(least, limit(top / below));
    if (below.empty()) return least;
    below = below.parent_path();
  }
}

}  // namespace

std::optional<double> group_limit(const fs::path& root, std::string_view controller,
                                  const GroupLimit& newer, const GroupLimit& older) {
  const fs::path mount = root / "sys/fs/cgroup";
  std::ifstream groups(root / "proc/self/cgroup");
  std::optional<double> least;
  // Lines "0::/group" (version 2) or "4:cpu,cpuacct:/group" (version 1).
  for (std::string line; std::getline(groups, line);) {
    std::istringstream parts(line);
    std::string number;
    std::string controllers;
    std::string group;
    std::getline(parts, number, ':');
    std::getline(parts, controllers, ':');
    std::getline(parts, group);
    if (controllers.empty()) {
      keep_least(least, tightest(mount, group, newer));
    } else if (("," + controllers + ",").find("," + std::string(controller) + ",") !=
               std::string::npos) {
      keep_least(least, tightest(mount / controllers, group, older));
    }
  }
  return least;
}

}  // namespace seam::host
