/// JSON on one line, with its keys in the order in which they were set: what a run leaves for other
/// programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace seam::host {

using Json = nlohmann::ordered_json;

/// Without a line break. Bytes that are no UTF-8, as names of files may have, become U+FFFD;
/// numbers that are not finite become null.
std::string json_line(const Json& json);

}  // namespace seam::host
