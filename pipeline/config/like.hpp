/// `like`: a stage takes the keys that it does not set itself from another stage.
///
///     [stage.train_items]             [stage.query_items]
///     use = "dataset.inshop"          like = "train_items"     ──► use = "dataset.inshop"
///     root = "data/inshop"                                         root = "data/inshop"
///     split = "train"                 split = "query"              split = "query"
#pragma once

#include "pipeline/config/document.hpp"
#include "pipeline/config/findings.hpp"

namespace seam::host {

/// Copies missing keys into every [stage.NAME] with `like`, each with its original place. Call it
/// on the complete tree, after --set and variables. If this fails for a stage, the stage and those
/// that are like it are marked as broken.
void resolve_likes(Table& tree, Findings& findings);

}  // namespace seam::host
