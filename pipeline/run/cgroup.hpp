/// The limits that the kernel's control groups set for this process.
///
///     /proc/self/cgroup   0::/user/job            version 2: one hierarchy
///                         4:memory:/job           version 1: one per controller
///
/// Each group limits those below it, so the tightest limit up to the hierarchy's top counts.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>

namespace seam::host {

/// Reads the limit in a group's folder; none: the group sets none.
using GroupLimit = std::function<std::optional<double>(const std::filesystem::path& folder)>;

/// The tightest limit for this process; none: no group sets one. `controller`: "cpu" or "memory";
/// `newer` and `older` read folders of version 2 and 1. `root`: replaces "/" in tests.
std::optional<double> group_limit(const std::filesystem::path& root, std::string_view controller,
                                  const GroupLimit& newer, const GroupLimit& older);

}  // namespace seam::host
