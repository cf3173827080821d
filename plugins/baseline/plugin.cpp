#include <seam/plugin.hpp>

#include "stages/baseline/hsv_histogram.hpp"
#include "stages/baseline/pixels.hpp"

using namespace seam::stages;  // this file only registers their classes

SEAM_PLUGIN(HsvHistogram, Pixels)
