/// Converts complete stage descriptions to JSON and back, for the cache of descriptions.
#pragma once

#include "pipeline/plugins/description_cache.hpp"
#include "pipeline/text/json.hpp"

namespace seam::host {

/// Everything except the functions, which belong to a live stage. Only for binary forms of JSON:
/// strings may contain any bytes, and numbers may be infinite.
Json json_of(const DescriptionCache::StageRecord& record);
/// Throws nlohmann::json::exception or std::exception for invalid records.
DescriptionCache::StageRecord record_of(const Json& json);

}  // namespace seam::host
