#include <seam/plugin.hpp>

#include "stages/loss/triplet.hpp"

SEAM_PLUGIN(seam::stages::Triplet)
