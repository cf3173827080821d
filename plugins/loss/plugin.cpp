#include <seam/plugin.hpp>

#include "stages/loss/cross_entropy.hpp"
#include "stages/loss/triplet.hpp"

SEAM_PLUGIN(seam::stages::CrossEntropy, seam::stages::Triplet)
