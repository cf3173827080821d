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

/// The shortest text that reads back as the same number; null for nan, 1e999 for infinity, which
/// readers turn back into infinity. For metrics, where it matters whether a loss was infinite.
std::string number_text(double number);

}  // namespace seam::host
