/// Evaluates the networks of a finished run again: `seam eval RUN`.
///
///     RUN/resolved.toml + --set ──► the flows of its schedule that do not train
///                               ──► stage.NAME.weights = RUN, for each network in them
///                                       └──► an ordinary new run
#pragma once

#include <string>
#include <vector>

#include "pipeline/config/load.hpp"

namespace seam::host {

/// Returns the overrides that turn `changed` into a pipeline that only evaluates. `trained` is the
/// pipeline of the run in the folder `run`, and `changed` is `trained` with the user's `set`. Flows
/// of `before` that also run later are omitted: they measured the network before it was trained.
/// Throws seam::Error (configuration) if no flow trained or none evaluates, if a stage's trained
/// state cannot be imported, if a flow that evaluates would train, or if a key of `set` has no
/// effect on an evaluation or is fixed by it.
[[nodiscard]] std::vector<std::string> evaluation_overrides(const CheckedPipeline& trained,
                                                            const CheckedPipeline& changed,
                                                            const std::string& run,
                                                            const std::vector<std::string>& set);

}  // namespace seam::host
