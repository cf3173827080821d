#include <seam/plugin.hpp>

#include "stages/export/embeddings.hpp"
#include "stages/export/neighbours.hpp"

using namespace seam::stages;  // this file only registers their classes

SEAM_PLUGIN(Embeddings, NearestNeighbours)
