// What this library ships. Nothing else belongs here.
#include <seam/plugin.hpp>

#include "template_stage.hpp"

SEAM_PLUGIN(TemplateStage)
