/// JSON for programs that read what this one says: values keep the order in which they were added.
///
///     json_line({{"stage", "loss"}, {"value", 0.25}})     {"stage":"loss","value":0.25}
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace seam::host {

using Json = nlohmann::ordered_json;

/// On one line; bytes that are not UTF-8 become U+FFFD, and numbers that JSON does not have null.
std::string json_line(const Json& json);

}  // namespace seam::host
