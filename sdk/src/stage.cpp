#include "seam/stage.hpp"

#include <string>

namespace seam {

// Key functions: one vtable and type_info for all plugins.
Services::~Services() = default;
Emitter::~Emitter() = default;
Stage::~Stage() = default;

void Context::refuse_in_lane(std::string_view name) const {
  throw Error("stage '" + std::string(stage_) + "' records '" + std::string(name) +
                  "' in forward(), which computes several lanes of each batch; record it in "
                  "process() or end(), or remove `lanes` from [pipeline]",
              Fault::configuration);
}

}  // namespace seam
