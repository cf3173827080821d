#include <seam/plugin.hpp>

#include "stages/dataset/inshop.hpp"
#include "stages/sampling/triplets.hpp"

SEAM_PLUGIN(seam::stages::Inshop, seam::stages::Triplets)
