#include <seam/plugin.hpp>

#include "stages/model/sccapsnet.hpp"

SEAM_PLUGIN(seam::stages::Sccapsnet)
