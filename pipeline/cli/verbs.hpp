/// The program's verbs: what each takes from the command line, and what it does. One file a verb;
/// arguments.cpp alone knows how a command line is written.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pipeline/run/exit_code.hpp"

namespace seam::host {

/// Runs a pipeline file, or goes on with an earlier run.
struct RunArguments {
  std::string file;    ///< empty with `resume`
  std::string resume;  ///< folder of an earlier run
  std::vector<std::string> set;
  std::optional<int> threads;
  std::vector<std::string> plugin_paths;
  std::string run_directory;  ///< empty: runs/NAME-DATE-TIME-N
  std::string trace;          ///< empty: none
  bool quiet = false;
};
ExitCode run_verb(const RunArguments& arguments);

/// Checks pipeline files without running them.
struct CheckArguments {
  std::vector<std::string> files;
  std::vector<std::string> set;
  std::vector<std::string> plugin_paths;
  bool json = false;
};
ExitCode check_verb(const CheckArguments& arguments);

/// Lists the plugins that are found, their stages, and the files that were refused.
struct PluginsArguments {
  std::vector<std::string> plugin_paths;
  bool json = false;
};
ExitCode plugins_verb(const PluginsArguments& arguments);

/// Describes a stage: parameters, fields, interfaces.
struct InspectArguments {
  std::string stage;
  std::vector<std::string> plugin_paths;
  bool json = false;
};
ExitCode inspect_verb(const InspectArguments& arguments);

/// Draws a pipeline's flows; those of a run with what its stages did since it was last started.
struct GraphArguments {
  std::string file;  ///< or a run's folder
  std::vector<std::string> set;
  std::vector<std::string> plugin_paths;
  std::string format = "dot";  ///< "dot" or "mermaid"
};
ExitCode graph_verb(const GraphArguments& arguments);

/// Says what this program is, what it may use of the machine and what it finds.
struct DoctorArguments {
  std::vector<std::string> plugin_paths;
};
ExitCode doctor_verb(const DoctorArguments& arguments);

}  // namespace seam::host
