#include <seam/plugin.hpp>

#include "stages/sampling/mined.hpp"
#include "stages/sampling/pairs.hpp"
#include "stages/sampling/pk.hpp"
#include "stages/sampling/shuffle.hpp"
#include "stages/sampling/triplets.hpp"

using namespace seam::stages;  // this file only registers their classes

SEAM_PLUGIN(DrawnPairs, Mined, Pk, Shuffle, Triplets)
