/// Counts the categories of data sets before a run, for networks whose `classes` a file omits.
#pragma once

#include "pipeline/config/load.hpp"
#include "pipeline/graph/flow.hpp"
#include "pipeline/run/display.hpp"

namespace seam::host {

/// Returns a function that counts them. It shows information that the data sets log, such as that
/// images are drawn, on `display`, if it is not null. A stop request interrupts it. Both outlive
/// the function.
[[nodiscard]] CategoryCount category_count(Display* display, const StopState* stop);

}  // namespace seam::host
