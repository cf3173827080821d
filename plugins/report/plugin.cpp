#include <seam/plugin.hpp>

#include "stages/report/duplicates.hpp"
#include "stages/report/neighbours.hpp"
#include "stages/report/pictures.hpp"

using namespace seam::stages;  // the stages' classes are all this file is about

SEAM_PLUGIN(DrawnNeighbours, DuplicatePictures, FedPictures)
