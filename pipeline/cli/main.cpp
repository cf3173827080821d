#include "pipeline/cli/arguments.hpp"

int main(int count, char** arguments) {
  return seam::host::run_command_line(count, arguments);
}
