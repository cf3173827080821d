#include <seam/plugin.hpp>

#include "stages/dataset/category.hpp"
#include "stages/dataset/folder.hpp"
#include "stages/dataset/inshop.hpp"
#include "stages/dataset/mnist.hpp"
#include "stages/dataset/table.hpp"
#include "stages/dataset/wardrobe.hpp"

using namespace seam::stages;  // the stages' classes are all this file is about

SEAM_PLUGIN(Category, Folder, Inshop, Mnist, Table, Wardrobe)
