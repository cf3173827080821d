/// The flows of `seam check --data`: each source with the stages that prepare its images.
///
///     train_items -> pairs -> decode -> resize -> pair_batch -> model -> ...
///          └──────────────────► decode -> resize
#pragma once

#include <vector>

#include "pipeline/config/load.hpp"

namespace seam::host {

/// Returns one flow per source of the scheduled flows, named after the source: its serial and
/// parallel transforms up to the first batch or tensor. Samplers are skipped, because they repeat
/// and drop packets, and the flow ends at a stage that needs a sampler's fields. Equal flows are
/// returned once.
[[nodiscard]] std::vector<FlowSpec> data_flows(const CheckedPipeline& pipeline);

}  // namespace seam::host
