#include <seam/plugin.hpp>

#include "stages/report/duplicates.hpp"
#include "stages/report/neighbours.hpp"
#include "stages/report/pictures.hpp"

using namespace seam::stages;  // this file only registers their classes

SEAM_PLUGIN(DrawnNeighbours, DuplicatePictures, FedPictures)
