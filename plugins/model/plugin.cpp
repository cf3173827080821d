#include <seam/plugin.hpp>

#include "stages/model/cnn_embedding.hpp"
#include "stages/model/rccapsnet.hpp"
#include "stages/model/resnet.hpp"
#include "stages/model/sccapsnet.hpp"
#include "stages/model/torchscript.hpp"

using namespace seam::stages;  // the stages' classes are all this file is about

SEAM_PLUGIN(CnnEmbedding, Rccapsnet, Resnet, Sccapsnet, Torchscript)
