#include <seam/plugin.hpp>

#include "stages/batch/batch.hpp"

SEAM_PLUGIN(seam::stages::Batch)
