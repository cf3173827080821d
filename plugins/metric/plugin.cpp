#include <seam/plugin.hpp>

#include "stages/metric/accuracy.hpp"
#include "stages/metric/verification.hpp"

using namespace seam::stages;  // the stages' classes are all this file is about

SEAM_PLUGIN(Accuracy, Verification)
