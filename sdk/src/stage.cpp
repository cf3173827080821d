#include "seam/stage.hpp"

namespace seam {

// Key functions: one vtable and type_info for all plugins.
Services::~Services() = default;
Emitter::~Emitter() = default;
Stage::~Stage() = default;

}  // namespace seam
