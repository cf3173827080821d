#include <seam/plugin.hpp>

#include "stages/baseline/hsv_histogram.hpp"
#include "stages/baseline/pixels.hpp"

using namespace seam::stages;  // the stages' classes are all this file is about

SEAM_PLUGIN(HsvHistogram, Pixels)
