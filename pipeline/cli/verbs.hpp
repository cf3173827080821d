/// The program's verbs and their arguments, one source file per verb. Only arguments.cpp defines
/// the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/cli/help.hpp"
#include "pipeline/config/load.hpp"
#include "pipeline/run/exit_code.hpp"

namespace seam::host {

/// A pipeline file, and what the command line changes in it.
struct FileArguments {
  std::string file;  ///< or a run folder, if the verb takes one
  std::vector<std::string> variants;
  std::vector<std::string> set;
  std::vector<std::string> plugin_paths;
};

/// Runs a pipeline file, resumes an earlier run, starts a new run from one, or evaluates one again.
struct RunArguments : FileArguments {  // no file with `resume`, `from` and `evaluate`
  std::string resume;                  ///< folder of an earlier run
  std::string from;                    ///< folder of an earlier run, which is not changed
  std::string evaluate;                ///< folder of an earlier run, which is not changed
  std::optional<int> threads;
  std::string device;     ///< this and the next two: empty: as in the file
  std::string precision;  ///< "float32", "bfloat16"
  std::optional<bool> deterministic;
  bool tensorboard = false;
  std::string run_directory;       ///< empty: runs/NAME-DATE-TIME-N
  bool resume_if_present = false;  ///< the run in `run_directory`, if it holds one
  std::string shard;            ///< "1/3" or "auto", in a folder in `run_directory`; may be empty
  bool headspace = false;       ///< only compare the training flow with its step alone
  std::string trace;            ///< empty: none
  std::string colour = "auto";  ///< or "always", "never"
  bool timing = false;          ///< times of all stages at the end
  std::string time_limit;       ///< in the format of duration_of(); empty: none
  int stopped_code = static_cast<int>(ExitCode::cancelled);  ///< of a run that was asked to stop
  bool quiet = false;
  bool json = false;  ///< print progress as JSON
};
ExitCode run_verb(RunArguments arguments);
/// The same with `headspace`. Throws seam::Error (configuration) if no scheduled flow trains.
ExitCode headspace_verb(LoadOptions to_load, const RunArguments& arguments);

/// Runs a pipeline file once for each combination of parameter values.
struct SweepArguments : FileArguments {  // no file with `resume`
  std::string resume;                    ///< folder of an earlier sweep
  std::vector<std::string> over;
  std::optional<std::int64_t> random;
  std::optional<std::uint64_t> random_seed;
  std::optional<int> threads;
  std::optional<int> jobs;
  std::string sweep_directory;  ///< empty: runs/NAME-sweep-DATE-TIME-N
  std::string shard;            ///< "1/3" or "auto": of the combinations; empty: all
  bool dry_run = false;         ///< checks, and lists the runs
  bool list = false;            ///< checks, and prints one command per run
};
ExitCode sweep_verb(const SweepArguments& arguments);

/// Lists the runs of a folder.
struct RunsArguments {
  std::string folder = "runs";
  std::string metric;  ///< empty: each run's headline metric
  bool json = false;
};
ExitCode runs_verb(const RunsArguments& arguments);

/// Checks that the shards in a folder are complete and belong together.
struct ShardsArguments {
  std::string folder;
  bool json = false;
};
ExitCode shards_verb(const ShardsArguments& arguments);

/// Ranks runs by a metric.
struct CompareArguments {
  std::vector<std::string> runs;     ///< folders of runs and of sweeps
  std::vector<std::string> metrics;  ///< the first one ranks; empty: the runs' headline metric
  std::string better;                ///< "higher", "lower"; empty: as recorded by the runs
  bool best = false;                 ///< each run's best epoch instead of its last
  bool paired = false;               ///< differences observation by observation
  bool csv = false;                  ///< at most one of these four
  bool json = false;
  bool markdown = false;
  bool latex = false;
};
ExitCode compare_verb(const CompareArguments& arguments);

/// Checks pipeline files without running them, or with one batch of each flow.
struct CheckArguments : FileArguments {  // no variants: without variants, and with each of them
  std::vector<std::string> files;        ///< instead of `file`
  bool json = false;
  bool deep = false;  ///< also opens the stages and runs one batch of each flow
  bool data = false;  ///< also prepares each image that the sources provide
};
ExitCode check_verb(const CheckArguments& arguments);

/// Lists the plugins that are found, their stages, and the files that were rejected.
struct PluginsArguments {
  std::vector<std::string> plugin_paths;
  bool json = false;
  bool load = false;  ///< also loads each plugin and reports errors
};
ExitCode plugins_verb(const PluginsArguments& arguments);

/// Describes a stage (parameters, fields, interfaces and network) or a field.
struct InspectArguments : FileArguments {  // without a file, only the stage's type
  std::string stage;                       ///< its name in the file, or without a file its type
  std::vector<std::string> words;          ///< file and stage, as the command line has them
  bool json = false;
  bool markdown = false;  ///< prints the stage's documentation page
};
ExitCode inspect_verb(const InspectArguments& arguments);

/// Draws a pipeline's flows; for a run, with the counts of its stages since it was last started.
struct GraphArguments : FileArguments {
  std::string format = "dot";  ///< "dot" or "mermaid"
};
ExitCode graph_verb(const GraphArguments& arguments);

/// Writes one HTML page of a run, of several side by side, or of a folder of runs.
struct ReportArguments {
  std::vector<std::string> runs;  ///< folders
  std::string output;             ///< empty: report.html in the folder, if only one is given
};
ExitCode report_verb(const ReportArguments& arguments);

/// Shows the program's version, the available resources and the plugins found, or the source lines
/// of a crash.
struct DoctorArguments {
  std::vector<std::string> plugin_paths;
  std::string crash;  ///< a run.log, or another file with a crash report; empty: none
};
ExitCode doctor_verb(const DoctorArguments& arguments);

/// Writes a project with a plugin: a stage, its test, a pipeline.
struct NewPluginArguments {
  std::string name;                ///< of the stage, such as "unsharp_mask" or "acme.unsharp_mask"
  std::string kind = "transform";  ///< or source, collector, sink, tensor, model, loss
  std::string output;              ///< the folder; empty: named after the stage
};
ExitCode new_plugin_verb(const NewPluginArguments& arguments);

/// Creates a pipeline file for training, and the JSON Schema for editors.
struct NewPipelineArguments {
  std::string name;   ///< of the file; ".toml" is optional
  std::string table;  ///< a CSV file of the user's images; empty: images that Seam draws
};
ExitCode new_pipeline_verb(const NewPipelineArguments& arguments);

/// Prints the JSON Schema of pipeline files, with every stage that is found.
struct SchemaArguments {
  std::vector<std::string> plugin_paths;
};
ExitCode schema_verb(const SchemaArguments& arguments);
std::string schema_text(const std::vector<std::string>& plugin_paths);

/// Prints the completions of the last of these words, one per line, for the shells (completion/).
ExitCode complete_verb(const ProgramHelp& help, const std::vector<std::string>& words);

/// Writes the manual pages to a folder, for the build.
ExitCode manual_verb(const ProgramHelp& help, const std::string& folder);

}  // namespace seam::host
