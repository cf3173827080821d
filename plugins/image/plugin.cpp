#include <seam/plugin.hpp>

#include "stages/image/augment.hpp"
#include "stages/image/crop.hpp"
#include "stages/image/decode.hpp"
#include "stages/image/erase.hpp"
#include "stages/image/resize.hpp"

using namespace seam::stages;  // this file only registers their classes

SEAM_PLUGIN(Augment, Crop, Decode, Erase, Resize)
