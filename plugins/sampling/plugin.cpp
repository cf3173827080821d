#include <seam/plugin.hpp>

#include "stages/sampling/triplets.hpp"

SEAM_PLUGIN(seam::stages::Triplets)
