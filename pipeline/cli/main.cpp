#include <cstdio>
#include <cstdlib>

#include "pipeline/cli/arguments.hpp"

int main(int count, char** arguments) {
  const int code = seam::host::run_command_line(count, arguments);
#ifdef SEAM_SANITIZED
  return code;  // a sanitizer reports what it found at a regular end
#else
  // Everything is written and all stages are destroyed. A regular end would also destroy static
  // objects: LibTorch unregisters thousands of operators, an eighth of the time of a short run.
  std::fflush(nullptr);
  std::quick_exit(code);
#endif
}
