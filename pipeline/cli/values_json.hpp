/// Parameters' values as JSON, for the verbs that describe stages to programs.
#pragma once

#include <string>

#include "seam/declaration.hpp"

namespace seam::host {

std::string value_json(const Value& value);

}  // namespace seam::host
