/// Exit codes of the program; docs/exit-codes.md explains each.
#pragma once

#include <cstdint>

#include "seam/error.hpp"

namespace seam::host {

enum class ExitCode : std::uint8_t {
  success = 0,
  configuration = 2,  ///< command line, pipeline file, plugin
  data = 3,           ///< an input, or a file that could not be read or written
  cancelled = 4,      ///< stopped on request; can be resumed
  internal = 5,       ///< a bug in a stage or in Seam
  incomplete = 6,     ///< the ledger does not balance: packets are unaccounted for
};

constexpr ExitCode exit_code_of(Fault fault) {
  switch (fault) {
    case Fault::configuration:
      return ExitCode::configuration;
    case Fault::data:
      return ExitCode::data;
    case Fault::cancelled:
      return ExitCode::cancelled;
    case Fault::internal:
      break;
  }
  return ExitCode::internal;
}

}  // namespace seam::host
