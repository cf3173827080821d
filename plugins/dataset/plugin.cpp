#include <seam/plugin.hpp>

#include "stages/dataset/att.hpp"
#include "stages/dataset/category.hpp"
#include "stages/dataset/folder.hpp"
#include "stages/dataset/inshop.hpp"
#include "stages/dataset/landmarks.hpp"
#include "stages/dataset/lfw.hpp"
#include "stages/dataset/lfw_pairs.hpp"
#include "stages/dataset/mnist.hpp"
#include "stages/dataset/sop.hpp"
#include "stages/dataset/table.hpp"
#include "stages/dataset/wardrobe.hpp"

using namespace seam::stages;  // this file only registers their classes

SEAM_PLUGIN(Att, Category, Folder, Inshop, Landmarks, Lfw, LfwPairs, Mnist, Sop, Table, Wardrobe)
