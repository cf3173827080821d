#include <seam/plugin.hpp>

#include "equalise.hpp"

SEAM_PLUGIN(Equalise)
