/// Parameter values as JSON, for the verbs that print JSON.
#pragma once

#include "pipeline/text/json.hpp"
#include "seam/declaration.hpp"

namespace seam::host {

/// Numbers that JSON does not have become strings: "inf", "-inf", "nan".
Json value_json(const Value& value);

}  // namespace seam::host
