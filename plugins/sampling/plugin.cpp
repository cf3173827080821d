#include <seam/plugin.hpp>

#include "stages/sampling/mined.hpp"
#include "stages/sampling/pairs.hpp"
#include "stages/sampling/pk.hpp"
#include "stages/sampling/shuffle.hpp"
#include "stages/sampling/triplets.hpp"

using namespace seam::stages;  // the stages' classes are all this file is about

SEAM_PLUGIN(DrawnPairs, Mined, Pk, Shuffle, Triplets)
