#include <seam/plugin.hpp>

#include "stages/model/capsule_decoder.hpp"
#include "stages/model/cnn_embedding.hpp"
#include "stages/model/rccapsnet.hpp"
#include "stages/model/rccapsnet_cls.hpp"
#include "stages/model/resnet.hpp"
#include "stages/model/sccapsnet.hpp"
#include "stages/model/sccapsnet_cls.hpp"
#include "stages/model/torchscript.hpp"

using namespace seam::stages;  // the stages' classes are all this file is about

SEAM_PLUGIN(CapsuleDecoder, CnnEmbedding, Rccapsnet, RccapsnetCls, Resnet, Sccapsnet, SccapsnetCls,
            Torchscript)
