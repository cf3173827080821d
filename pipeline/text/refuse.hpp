/// Rejects what a user requests but cannot have.
///
///     refuse("there is no flow '{}'", name)     throws seam::Error (configuration)
#pragma once

#include <fmt/format.h>

#include <utility>

#include "seam/error.hpp"

namespace seam::host {

template <class... Arguments>
[[noreturn]] void refuse(fmt::format_string<Arguments...> message, Arguments&&... arguments) {
  throw Error(fmt::format(message, std::forward<Arguments>(arguments)...), Fault::configuration);
}

}  // namespace seam::host
