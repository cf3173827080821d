#include <iostream>

#include "pipeline/cli/verbs.hpp"
#include "pipeline/report/page.hpp"

namespace seam::host {

ExitCode report_verb(const ReportArguments& arguments) {
  std::cout << write_page(arguments.runs, arguments.output).string() << std::endl;
  return ExitCode::success;
}

}  // namespace seam::host
