#include <seam/plugin.hpp>

#include "stages/metric/accuracy.hpp"
#include "stages/metric/verification.hpp"

using namespace seam::stages;  // this file only registers their classes

SEAM_PLUGIN(Accuracy, Verification)
