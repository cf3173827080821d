/// Parameters that come in pairs, NAME_least and NAME_most.
#pragma once

#include <seam/error.hpp>

#include "stages/counted.hpp"

namespace seam::stages {

/// Throws seam::Error (configuration) if the minimum exceeds the maximum. `what`: the common prefix
/// of the parameters' names.
inline void check_order(double least, double most, const std::string& what) {
  if (least <= most) return;
  throw Error(what + "_least is " + text_of(least) + " and " + what + "_most is " + text_of(most) +
                  ": the minimum must not exceed the maximum; swap them",
              Fault::configuration);
}

}  // namespace seam::stages
