#include <seam/plugin.hpp>

#include "stages/train/adam.hpp"

SEAM_PLUGIN(seam::stages::Adam)
