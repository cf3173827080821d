#include <seam/plugin.hpp>

#include "stages/capsule/sccapsnet.hpp"
#include "stages/retrieval/index.hpp"
#include "stages/retrieval/recall.hpp"
#include "stages/retrieval/search.hpp"
#include "stages/training/adam.hpp"
#include "stages/training/batch.hpp"
#include "stages/training/triplet.hpp"

using namespace seam::stages;  // the stages' classes are all this file is about

SEAM_PLUGIN(Adam, Batch, Index, Recall, Sccapsnet, Search, Triplet)
