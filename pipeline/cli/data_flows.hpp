/// The flows of `seam check --data`: each source with the stages that prepare its pictures.
///
///     train_items -> pairs -> decode -> resize -> pair_batch -> model -> ...
///          └──────────────────► decode -> resize
#pragma once

#include <vector>

#include "pipeline/config/load.hpp"

namespace seam::host {

/// A flow for each source of the scheduled flows, named after it: the serial and parallel
/// transforms up to the first batch or tensor. Samplers, which repeat and leave out, are passed
/// over, and what needs their fields is left out. A source that has the same stages behind it in
/// several flows comes once.
[[nodiscard]] std::vector<FlowSpec> data_flows(const CheckedPipeline& pipeline);

}  // namespace seam::host
