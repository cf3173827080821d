// SPDX-License-Identifier: Apache-2.0
/// Networks whose number of outputs is the number of categories in the data.
///
///     class Capsules final : public seam::ModuleStage<Net>, public seam::CategoryOutputs {
///       void declare(seam::Declaration& d) override {
///         d.parameter("classes", classes_, "...");
///         ...
///         d.offers<seam::CategoryOutputs>(*this);
///       }
///     };
///
///     data set (CategoryNames) ──► flow that trains ──► network: classes = number of the names
#pragma once

namespace seam {

/// Offered by a stage with a parameter `classes`. If the pipeline file omits it, a run sets it to
/// the number of category names of the data sets before the stage in the flows that train, and
/// records it; for this, it opens the data sets and closes them before it begins. The parameter
/// keeps its default if these data sets name no categories, and if no flow trains.
class CategoryOutputs {};

}  // namespace seam
