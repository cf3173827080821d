#include <seam/plugin.hpp>

#include "stages/loss/arcface.hpp"
#include "stages/loss/attributes.hpp"
#include "stages/loss/batch_hard.hpp"
#include "stages/loss/contrastive.hpp"
#include "stages/loss/cost_sensitive.hpp"
#include "stages/loss/cross_batch_memory.hpp"
#include "stages/loss/cross_entropy.hpp"
#include "stages/loss/double_margin.hpp"
#include "stages/loss/landmark.hpp"
#include "stages/loss/margin.hpp"
#include "stages/loss/multi_similarity.hpp"
#include "stages/loss/proxy_anchor.hpp"
#include "stages/loss/reconstruction.hpp"
#include "stages/loss/supervised_contrastive.hpp"
#include "stages/loss/triplet.hpp"
#include "stages/loss/visibility.hpp"

using namespace seam::stages;  // this file only registers their classes

SEAM_PLUGIN(Arcface, Attributes, BatchHard, Contrastive, CostSensitive, CrossBatchMemory,
            CrossEntropy, DoubleMargin, Landmark, Margin, MultiSimilarity, ProxyAnchor,
            Reconstruction, SupervisedContrastive, Triplet, Visibility)
