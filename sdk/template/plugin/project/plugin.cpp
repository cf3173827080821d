// The stages of this library. Nothing else belongs here.
#include <seam/plugin.hpp>

#include "template_stage.hpp"

SEAM_PLUGIN(TemplateStage)
