#include <seam/plugin.hpp>

#include "average.hpp"
#include "sharpness.hpp"
#include "stripes.hpp"

SEAM_PLUGIN(Stripes, Sharpness, AverageSharpness)
