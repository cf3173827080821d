/// Changes of a run's parameters for programs: of `seam runs`, `seam compare` and `seam report`.
#pragma once

#include <vector>

#include "pipeline/run/recorded_change.hpp"
#include "pipeline/text/json.hpp"

namespace seam::host {

/// [{"epoch":24,"time":"...","text":"from epoch 25 on: ...",
///   "parameters":[{"key":"stage.adam.rate","before":"0.001","now":"0.0001"}]}]
///
/// The epoch is the one from which on the values hold, from 0; "flows_done" and "steps_done" are
/// there where it was changed within one. A value that is not set is null.
Json changes_json(const std::vector<RecordedChange>& changes);

}  // namespace seam::host
