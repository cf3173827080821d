/// A finished run's networks measured again: `seam eval RUN`.
///
///     RUN/resolved.toml + --set ──► the flows of its schedule that do not train
///                               ──► stage.NAME.weights = RUN, for each network in them
///                                       └──► an ordinary new run
#pragma once

#include <string>
#include <vector>

#include "pipeline/config/load.hpp"

namespace seam::host {

/// The values of --set that turn `changed`, which is `trained` with the user's `set`, into a
/// pipeline that only evaluates; `trained` is that of the run in the folder `run`. Flows of
/// `before` that also run later are omitted: they measured the network before it was trained.
/// Throws seam::Error (configuration) if nothing was trained or nothing evaluates, if a stage's
/// trained state cannot be imported, if a flow that evaluates would train, and for a key of `set`
/// that has no effect on an evaluation or says what an evaluation decides.
[[nodiscard]] std::vector<std::string> evaluation_overrides(const CheckedPipeline& trained,
                                                            const CheckedPipeline& changed,
                                                            const std::string& run,
                                                            const std::vector<std::string>& set);

}  // namespace seam::host
