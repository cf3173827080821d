#include <seam/plugin.hpp>

#include "stages/retrieval/index.hpp"
#include "stages/retrieval/query_expansion.hpp"
#include "stages/retrieval/recall.hpp"
#include "stages/retrieval/rerank.hpp"
#include "stages/retrieval/search.hpp"

using namespace seam::stages;  // this file only registers their classes

SEAM_PLUGIN(Index, QueryExpansion, Recall, Rerank, Search)
