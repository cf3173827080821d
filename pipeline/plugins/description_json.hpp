/// What a stage says of itself as JSON and back, whole: for the records of descriptions.
#pragma once

#include "pipeline/plugins/description_cache.hpp"
#include "pipeline/text/json.hpp"

namespace seam::host {

/// All but the functions, which belong to a living stage. Only for binary forms of JSON: texts may
/// be of any bytes, and numbers infinite.
Json json_of(const DescriptionCache::StageRecord& record);
/// Throws nlohmann::json::exception or std::exception for what is no such record.
DescriptionCache::StageRecord record_of(const Json& json);

}  // namespace seam::host
