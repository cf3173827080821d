#include <seam/plugin.hpp>

#include "stages/train/adam.hpp"
#include "stages/train/sgd.hpp"

SEAM_PLUGIN(seam::stages::Adam, seam::stages::Sgd)
