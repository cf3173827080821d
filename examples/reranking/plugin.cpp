#include <seam/plugin.hpp>

#include "reranking.hpp"

SEAM_PLUGIN(Reranking)
