#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "pipeline/cli/arguments.hpp"
#include "seam/plugin.hpp"

int main(int count, char** arguments) {
  const int code = seam::host::run_command_line(count, arguments);
  // A sanitizer reports what it found at a regular end.
  if (std::string_view(SEAM_SANITIZER) != "none") return code;
  // Everything is written and all stages are destroyed. A regular end would also destroy static
  // objects: LibTorch unregisters thousands of operators, an eighth of the time of a short run.
  std::fflush(stdout);
  std::fflush(stderr);
  std::quick_exit(code);
}
