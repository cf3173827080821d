#include <seam/plugin.hpp>

#include "stages/export/embeddings.hpp"
#include "stages/export/neighbours.hpp"

using namespace seam::stages;  // the stages' classes are all this file is about

SEAM_PLUGIN(Embeddings, NearestNeighbours)
