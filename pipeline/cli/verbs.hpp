/// The program's verbs: what each takes from the command line, and what it does. One file a verb;
/// arguments.cpp alone knows how a command line is written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/cli/help.hpp"
#include "pipeline/run/exit_code.hpp"

namespace seam::host {

/// Runs a pipeline file, goes on with an earlier run, begins where one stands, or evaluates one.
struct RunArguments {
  std::string file;      ///< empty with the next three
  std::string resume;    ///< folder of an earlier run
  std::string from;      ///< the same, which stays as it is
  std::string evaluate;  ///< the same
  std::vector<std::string> variants;
  std::vector<std::string> set;
  std::optional<int> threads;
  std::string device;     ///< this and the next two: empty: what the file says
  std::string precision;  ///< "float32", "bfloat16"
  std::optional<bool> deterministic;
  bool tensorboard = false;
  std::vector<std::string> plugin_paths;
  std::string run_directory;       ///< empty: runs/NAME-DATE-TIME-N
  bool resume_if_present = false;  ///< the run in `run_directory`, if it holds one
  std::string trace;               ///< empty: none
  std::string colour = "auto";     ///< or "always", "never"
  bool timing = false;             ///< times of all stages at the end
  std::string time_limit;          ///< as duration_of() takes it; empty: none
  int stopped_code = static_cast<int>(ExitCode::cancelled);  ///< of a run that was asked to stop
  bool quiet = false;
  bool json = false;  ///< progress for programs
};
ExitCode run_verb(RunArguments arguments);

/// Runs a pipeline file once for each combination of some parameters' values.
struct SweepArguments {
  std::string file;    ///< empty with `resume`
  std::string resume;  ///< folder of an earlier sweep
  std::vector<std::string> over;
  std::optional<std::int64_t> random;
  std::optional<std::uint64_t> random_seed;
  std::vector<std::string> variants;  ///< for every run
  std::vector<std::string> set;
  std::vector<std::string> plugin_paths;
  std::optional<int> threads;
  std::optional<int> jobs;
  std::string sweep_directory;  ///< empty: runs/NAME-sweep-DATE-TIME-N
  bool dry_run = false;         ///< checks, and lists the runs
};
ExitCode sweep_verb(const SweepArguments& arguments);

/// Lists the runs of a folder.
struct RunsArguments {
  std::string folder = "runs";
  std::string metric;  ///< empty: the one by which each run is judged
  bool json = false;
};
ExitCode runs_verb(const RunsArguments& arguments);

/// Ranks runs by a metric.
struct CompareArguments {
  std::vector<std::string> runs;     ///< folders of runs and of sweeps
  std::vector<std::string> metrics;  ///< the first ranks; none: by what the runs are judged
  std::string better;                ///< "higher", "lower"; empty: what the runs say
  bool best = false;                 ///< each run's best epoch instead of its last
  bool paired = false;               ///< differences observation by observation
  bool csv = false;                  ///< one of these four at most
  bool json = false;
  bool markdown = false;
  bool latex = false;
};
ExitCode compare_verb(const CompareArguments& arguments);

/// Checks pipeline files without running them, or with one batch of each flow.
struct CheckArguments {
  std::vector<std::string> files;
  std::vector<std::string> variants;  ///< empty: the file as it is, and with its variants
  std::vector<std::string> set;
  std::vector<std::string> plugin_paths;
  bool json = false;
  bool deep = false;  ///< also opens the stages and runs one batch of each flow
  bool data = false;  ///< also prepares each picture that the sources serve
};
ExitCode check_verb(const CheckArguments& arguments);

/// Lists the plugins that are found, their stages, and the files that were refused.
struct PluginsArguments {
  std::vector<std::string> plugin_paths;
  bool json = false;
  bool load = false;  ///< says of each whether it can be loaded as well
};
ExitCode plugins_verb(const PluginsArguments& arguments);

/// Describes a stage: parameters, fields, interfaces, and the network that it holds.
struct InspectArguments {
  std::string file;   ///< a pipeline file or a run's folder; empty: the stage as such
  std::string stage;  ///< its name in the file, or else its type
  std::vector<std::string> variants;
  std::vector<std::string> set;
  std::vector<std::string> plugin_paths;
  bool json = false;
  bool markdown = false;  ///< as its page in the documentation has it
};
ExitCode inspect_verb(const InspectArguments& arguments);

/// Draws a pipeline's flows; those of a run with what its stages did since it was last started.
struct GraphArguments {
  std::string file;  ///< or a run's folder
  std::vector<std::string> variants;
  std::vector<std::string> set;
  std::vector<std::string> plugin_paths;
  std::string format = "dot";  ///< "dot" or "mermaid"
};
ExitCode graph_verb(const GraphArguments& arguments);

/// Writes one HTML page of a run, of several side by side, or of a folder of many.
struct ReportArguments {
  std::vector<std::string> runs;  ///< folders
  std::string output;             ///< empty: report.html in the only folder
};
ExitCode report_verb(const ReportArguments& arguments);

/// Says what this program is, what it may use of the machine and what it finds.
struct DoctorArguments {
  std::vector<std::string> plugin_paths;
};
ExitCode doctor_verb(const DoctorArguments& arguments);

/// Writes a project with a plugin: a stage, its test, a pipeline.
struct NewPluginArguments {
  std::string name;                ///< of the stage, such as "unsharp_mask" or "acme.unsharp_mask"
  std::string kind = "transform";  ///< or source, collector, sink, model
  bool tensor = false;             ///< the stage works on tensors
  std::string output;              ///< the folder; empty: named like the stage
};
ExitCode new_plugin_verb(const NewPluginArguments& arguments);

/// Writes a pipeline file to begin with.
struct NewPipelineArguments {
  std::string name;   ///< of the file; ".toml" may be left out
  std::string table;  ///< a CSV file of the user's pictures; empty: drawn ones
};
ExitCode new_pipeline_verb(const NewPipelineArguments& arguments);

/// Prints the JSON Schema of pipeline files, with every stage that is found.
struct SchemaArguments {
  std::vector<std::string> plugin_paths;
};
ExitCode schema_verb(const SchemaArguments& arguments);
std::string schema_text(const std::vector<std::string>& plugin_paths);

/// What may stand for the last of these words, a line each; what shells ask (completion/).
ExitCode complete_verb(const ProgramHelp& help, const std::vector<std::string>& words);

/// Writes the manual pages into a folder; what the build asks.
ExitCode manual_verb(const ProgramHelp& help, const std::string& folder);

}  // namespace seam::host
