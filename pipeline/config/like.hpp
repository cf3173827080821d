/// `like`: a stage has the keys of another where it does not set them itself.
///
///     [stage.train_items]             [stage.query_items]
///     use = "dataset.inshop"          like = "train_items"     ──► use = "dataset.inshop"
///     root = "data/inshop"                                         root = "data/inshop"
///     split = "train"                 split = "query"              split = "query"
#pragma once

#include "pipeline/config/document.hpp"
#include "pipeline/config/findings.hpp"

namespace seam::host {

/// Gives every [stage.NAME] with `like` the keys that it lacks, each with the place where it
/// stands. To be asked of the whole tree, after --set and variables. A stage for which that fails
/// is marked as broken, and so are those that are like it.
void resolve_likes(Table& tree, Findings& findings);

}  // namespace seam::host
