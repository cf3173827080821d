#include <seam/plugin.hpp>

#include "stages/model/cnn_embedding.hpp"
#include "stages/model/resnet.hpp"
#include "stages/model/sccapsnet.hpp"
#include "stages/model/torchscript.hpp"

SEAM_PLUGIN(seam::stages::CnnEmbedding, seam::stages::Resnet, seam::stages::Sccapsnet,
            seam::stages::Torchscript)
