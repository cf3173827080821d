#include <seam/plugin.hpp>

#include "stages/loss/batch_hard.hpp"
#include "stages/loss/cross_entropy.hpp"
#include "stages/loss/margin.hpp"
#include "stages/loss/multi_similarity.hpp"
#include "stages/loss/proxy_anchor.hpp"
#include "stages/loss/reconstruction.hpp"
#include "stages/loss/triplet.hpp"

using namespace seam::stages;  // the stages' classes are all this file is about

SEAM_PLUGIN(BatchHard, CrossEntropy, Margin, MultiSimilarity, ProxyAnchor, Reconstruction, Triplet)
