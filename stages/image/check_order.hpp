/// Parameters that come in pairs, NAME_least and NAME_most.
#pragma once

#include <string>

#include <seam/error.hpp>

#include "stages/counted.hpp"

namespace seam::stages {

/// Throws seam::Error (configuration) where the least is above the most. `what`: the parameters'
/// name up to there.
inline void check_order(double least, double most, const std::string& what) {
  if (least <= most) return;
  throw Error(what + "_least is " + text_of(least) + " and " + what + "_most is " + text_of(most) +
                  ": the least must not be above the most; swap them",
              Fault::configuration);
}

}  // namespace seam::stages
