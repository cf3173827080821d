#include <seam/plugin.hpp>

#include "stages/model/alexnet.hpp"
#include "stages/model/capsnet.hpp"
#include "stages/model/capsule_decoder.hpp"
#include "stages/model/capsule_module.hpp"
#include "stages/model/cnn_embedding.hpp"
#include "stages/model/concat.hpp"
#include "stages/model/dense_decoder.hpp"
#include "stages/model/descriptors.hpp"
#include "stages/model/fashionnet.hpp"
#include "stages/model/inception.hpp"
#include "stages/model/lenet.hpp"
#include "stages/model/rccapsnet.hpp"
#include "stages/model/rccapsnet_cls.hpp"
#include "stages/model/resnet.hpp"
#include "stages/model/sccapsnet.hpp"
#include "stages/model/sccapsnet_cls.hpp"
#include "stages/model/scn.hpp"
#include "stages/model/sdropcapnet.hpp"
#include "stages/model/se_resnet50.hpp"
#include "stages/model/self_attention.hpp"
#include "stages/model/spatial_group_enhance.hpp"
#include "stages/model/torchscript.hpp"

using namespace seam::stages;  // this file only registers their classes

SEAM_PLUGIN(AlexNet, Capsnet, CapsuleDecoder, CapsuleModule, CnnEmbedding, Concat, DenseDecoder,
            Descriptors, FashionNet, Inception, LeNet, Rccapsnet, RccapsnetCls, Resnet, Sccapsnet,
            SccapsnetCls, Scn, Sdropcapnet, SeResnet50, SelfAttention, SpatialGroupEnhance,
            Torchscript)
