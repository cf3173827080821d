#include "pipeline/cli/arguments.hpp"

#include <poll.h>
#include <unistd.h>

#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/cli/command_parser.hpp"
#include "pipeline/cli/loading.hpp"
#include "pipeline/config/settings.hpp"
#include "pipeline/run/stop_signals.hpp"
#include "pipeline/text/lists.hpp"

namespace seam::host {
namespace {

constexpr int most_threads = 4096;
constexpr int most_draws = 10'000;
constexpr int most_exit_code = 125;  // shells use those above

/// Adds an option or an argument with a value. `kind`: its name in the help.
template <class T>
CLI::Option* add_value(CLI::App& verb, const std::string& name, T& member, const std::string& kind,
                       const std::string& doc) {
  return verb.add_option(name, member, doc)->type_name(kind);
}

/// Adds an option that takes a number from 1 to `most`.
template <class T>
void add_count(CLI::App& verb, const std::string& name, T& member, int most,
               const std::string& doc) {
  add_value(verb, name, member, "N", doc)->check(CLI::Range(1, most).description(""));
}

/// Adds an option that may be repeated. It takes one value each time, so that a file name after it
/// is not parsed as a second value.
void repeatable(CLI::App& verb, const std::string& name, std::vector<std::string>& values,
                const std::string& kind, const std::string& doc) {
  verb.add_option(name, values, doc)->type_name(kind)->allow_extra_args(false);
}

void add_plugin_path(CLI::App& verb, std::vector<std::string>& paths) {
  repeatable(verb, "--plugin-path", paths, "PATH",
             "a plugin or a folder of plugins; may be repeated");
}

void add_set(CLI::App& verb, std::vector<std::string>& overrides) {
  repeatable(verb, "--set", overrides, "KEY=VALUE",
             "set a key of the file, such as stage.model.classes=50; may be repeated");
}

CLI::Option* add_variant(CLI::App& verb, std::vector<std::string>& variants,
                         const std::string& doc =
                             "apply a variant of the file before --set, such as arcface "
                             "for its [variant.arcface]; may be repeated, or separate several by "
                             "commas") {
  return verb.add_option("--variant", variants, doc)
      ->type_name(std::string(variant_name))
      ->delimiter(',')
      ->allow_extra_args(false);
}

/// Adds the options for the device and the precision of a run.
void add_numerics(CommandParser& parser, CLI::App& verb, RunArguments& run) {
  add_value(verb, "--device", run.device, "DEVICE",
            "device to compute on: cpu, cuda, cuda:1 or auto; default: `device` of the file")
      ->check(CLI::Validator(
          [](const std::string& text) {
            return is_device(text) ? std::string()
                                   : "it takes " + std::string(device_forms) + ", not " + text;
          },
          ""));
  parser.add_choice(verb, "--precision", run.precision, {"float32", "bfloat16"},
                    "floating-point precision; default: `precision` of the file");
  const auto say = [&run](bool value) {
    return [&run, value](std::int64_t /*times*/) { run.deterministic = value; };
  };
  CLI::Option* deterministic =
      verb.add_flag("--deterministic", say(true), "use only deterministic operations");
  verb.add_flag("--no-deterministic", say(false),
                "also use nondeterministic operations, which may be faster on a GPU")
      ->excludes(deterministic);
}

/// Adds the options that do not depend on the source of the pipeline.
void add_running(CommandParser& parser, CLI::App& verb, RunArguments& run) {
  repeatable(verb, "--set", run.set, "KEY=VALUE",
             "set a key of the pipeline, such as stage.model.classes=50; may be repeated");
  add_count(verb, "--threads", run.threads, most_threads,
            "thread limit; default: `threads` of the file, then the available cores");
  add_numerics(parser, verb, run);
  add_plugin_path(verb, run.plugin_paths);
  add_value(verb, "--run-dir", run.run_directory, "DIR",
            "folder of the run; default: runs/NAME-DATE-TIME-N");
  parser.add_choice(verb, "--color", run.colour, {"auto", "always", "never"},
                    "colours; auto: on a terminal, unless NO_COLOR is set");
  verb.add_flag("--timing", run.timing, "at the end, print the times of all stages");
  CLI::Option* quiet = verb.add_flag("--quiet", run.quiet,
                                     "print only the score, warnings and errors, and on a terminal "
                                     "the progress line");
  verb.add_flag("--json", run.json,
                "print progress as JSON, one object per line, and at the end the run folder")
      ->excludes(quiet);
}

void add_eval(CommandParser& parser) {
  const auto [verb, eval] = parser.add<RunArguments>(
      "eval", "Evaluate the trained network of a run again, with its own pipeline",
      "runs/demo-20260301-093000-1 --set stage.gallery.metric=squared_euclidean", run_verb);
  add_value(verb, "run", eval.evaluate, "DIR",
            "the folder of a complete run, which is not changed; its best checkpoint is "
            "evaluated if it kept one, otherwise its last")
      ->required();
  add_running(parser, verb, eval);
}

void add_run(CommandParser& parser) {
  const auto [verb, run] =
      parser.add<RunArguments>("run", "Run a pipeline file, or resume an earlier run",
                               "pipelines/demo.toml --threads 4\n         seam run --resume "
                               "runs/demo-20260301-093000-1",
                               run_verb);
  CLI::Option* file = add_value(verb, "file", run.file, "FILE", "the pipeline file");
  CLI::Option* resume =
      add_value(verb, "--resume", run.resume, "DIR", "resume the run in this folder")
          ->excludes(file);
  CLI::Option* from =
      add_value(verb, "--from", run.from, "DIR",
                "start a new run from the run in this folder: from its newest checkpoint "
                "between two epochs, with its pipeline and the changes of --set")
          ->excludes(file)
          ->excludes(resume);
  CLI::Option* variant = add_variant(verb, run.variants);
  add_running(parser, verb, run);
  verb.get_option("--run-dir")->excludes(resume);
  verb.add_flag("--resume-if-present", run.resume_if_present,
                "resume the run in --run-dir if it holds one, so that the same command starts a "
                "job and continues it")
      ->needs(verb.get_option("--run-dir"))
      ->needs(file);
  add_value(
      verb, "--shard", run.shard, "I/N",
      "process only the I-th of N parts of the images, from 0/N to N-1/N, in the folder "
      "part-0000I-of-0000N of --run-dir; auto: as a Slurm array or a Kubernetes Job specifies")
      ->needs(verb.get_option("--run-dir"))
      ->needs(file);
  CLI::Option* headspace =
      verb.add_flag("--headspace", run.headspace,
                    "do not keep a run, but compare the images/s of its training flow with those "
                    "of the model alone, which shows whether the input is the limit; takes half a "
                    "minute")
          ->needs(file);
  for (const char* of_runs : {"--run-dir", "--json", "--timing"}) {
    headspace->excludes(verb.get_option(of_runs));
  }
  add_value(verb, "--trace", run.trace, "FILE",
            "write a timeline of all stages, for ui.perfetto.dev")
      ->excludes(headspace);
  verb.add_flag("--tensorboard", run.tensorboard,
                "also write metrics and images for TensorBoard to the run folder")
      ->excludes(headspace);
  add_value(verb, "--time-limit", run.time_limit, "TIME",
            "stop after this time and write a checkpoint, as on SIGTERM; such as 3h, 90m or 1h30m")
      ->check(CLI::Validator(
          [](const std::string& text) {
            return duration_of(text) ? std::string()
                                     : "it takes hours, minutes and seconds, such as 3h, 90m or "
                                       "1h30m, not " +
                                           text;
          },
          ""))
      ->excludes(headspace);
  add_value(verb, "--stopped-code", run.stopped_code, "N",
            "exit code of a run that stops on request, such as 99, on which job schedulers "
            "restart a job; default: 4")
      ->check(CLI::Validator(
          [](const std::string& text) {
            const std::vector<std::string> taken{"0", "1", "2", "3", "5", "6"};
            return !contains(taken, text)
                       ? CLI::Range(1, most_exit_code).description("")(text)
                       : "exit code " + text + " has another meaning: see docs/exit-codes.md";
          },
          ""));
  verb.parse_complete_callback([&run = run, file, resume, from, variant] {
    if (file->empty() && resume->empty() && from->empty()) {
      throw CLI::RequiredError("a pipeline FILE, or --resume DIR,");
    }
    if (file->empty() && !variant->empty()) {
      throw CLI::ArgumentMismatch(
          "--variant cannot change the pipeline of an earlier run, which keeps the variants that "
          "it "
          "was started with. Start a new run from the file: seam run FILE --variant " +
          run.variants.front());
    }
    if (!resume->empty() && !run.set.empty()) {
      throw CLI::ArgumentMismatch(
          "--set cannot change a run that is resumed: a run has the same pipeline from its first "
          "epoch to its last. Start a new run from it: seam run --from " +
          run.resume + " --set " + run.set.front());
    }
  });
}

void add_sweep(CommandParser& parser) {
  const auto [verb, sweep] = parser.add<SweepArguments>(
      "sweep", "Run a pipeline file once for each combination of parameter values",
      "pipelines/demo.toml --over stage.adam.rate=5e-4,1e-3,2e-3 --over "
      "pipeline.seed=1..3\n         seam sweep --resume runs/demo-sweep-20260301-093000-1",
      sweep_verb);
  CLI::Option* file = add_value(verb, "file", sweep.file, "FILE", "the pipeline file");
  CLI::Option* resume =
      add_value(verb, "--resume", sweep.resume, "DIR", "resume the sweep in this folder")
          ->excludes(file);
  repeatable(verb, "--over", sweep.over, "KEY=VALUES",
             "parameter values to combine, such as stage.loss.margin=0.2,0.5,1, pipeline.seed=1..3 "
             "or variant=arcface,triplet; variant.GROUP and variants combine groups of variants; "
             "default: `over` in the file's [sweep]; may be repeated");
  add_count(verb, "--random", sweep.random, most_draws,
            "random search: draw N combinations; allows ranges such as 1e-4..1e-2:log");
  add_value(verb, "--random-seed", sweep.random_seed, "N",
            "seed for --random; default: `random_seed` in the file's [sweep], then 0");
  add_variant(verb, sweep.variants,
              "apply a variant of the file to all runs; --over variant=a,b tries each variant");
  add_set(verb, sweep.set);
  add_count(verb, "--jobs", sweep.jobs, most_threads,
            "number of runs in parallel; default: 1, or with --resume the number that the "
            "sweep was started with");
  add_count(verb, "--threads", sweep.threads, most_threads,
            "thread limit for all runs together; default: as for `seam run`, or with "
            "--resume that of the sweep");
  add_plugin_path(verb, sweep.plugin_paths);
  add_value(verb, "--sweep-dir,--run-dir", sweep.sweep_directory, "DIR",
            "folder of the sweep; default: runs/NAME-sweep-DATE-TIME-N");
  add_value(
      verb, "--shard", sweep.shard, "I/N",
      "run only the combinations whose position, counted from 0, modulo N is I, in the folder "
      "part-0000I-of-0000N of --sweep-dir, or continue them; auto: as a Slurm array or a "
      "Kubernetes Job specifies")
      ->needs(verb.get_option("--sweep-dir"));
  CLI::Option* dry_run =
      verb.add_flag("--dry-run", sweep.dry_run, "check and list all runs without starting them");
  verb.add_flag("--list", sweep.list,
                "check all runs and print one command per run, each of which runs or continues it "
                "as a shard of the sweep")
      ->needs(verb.get_option("--sweep-dir"))
      ->excludes(verb.get_option("--shard"))
      ->excludes(dry_run);
  for (const char* fixed : {"--over", "--random", "--random-seed", "--variant", "--set",
                            "--plugin-path", "--sweep-dir", "--shard", "--dry-run", "--list"}) {
    verb.get_option(fixed)->excludes(resume);
  }
  verb.parse_complete_callback([file, resume] {
    if (file->empty() && resume->empty()) {
      throw CLI::RequiredError("a pipeline FILE, or --resume DIR,");
    }
  });
}

void add_runs(CommandParser& parser) {
  const auto [verb, runs] = parser.add<RunsArguments>(
      "runs", "List the runs in a folder with their states and scores", "", runs_verb);
  add_value(verb, "folder", runs.folder, "DIR",
            "a folder of runs, a sweep folder or a run folder; default: runs");
  add_value(verb, "--metric", runs.metric, "METRIC",
            "metric to show, as [FLOW:]STAGE.METRIC; default: the first metric in each run's "
            "score.json");
  verb.add_flag("--json", runs.json, "print JSON");
}

void add_shards(CommandParser& parser) {
  const auto [verb, shards] = parser.add<ShardsArguments>(
      "shards", "List the shards in a folder that are not complete or do not fit", "embedded",
      shards_verb);
  add_value(verb, "folder", shards.folder, "DIR", "the --run-dir of `seam run --shard`")
      ->required();
  verb.add_flag("--json", shards.json, "print JSON");
}

void add_compare(CommandParser& parser) {
  const auto [verb, compare] = parser.add<CompareArguments>(
      "compare", "Rank runs by a metric, over seeds and folds",
      "runs/demo-sweep-20260301-093000-1 --metric recall.none.r@1", compare_verb);
  add_value(verb, "runs", compare.runs, "DIR",
            "run folders, sweep folders, or folders that contain them")
      ->required();
  repeatable(verb, "--metric", compare.metrics, "METRIC",
             "metric to rank by, as [FLOW:]STAGE.METRIC; default: the first metric in the runs' "
             "score.json; if repeated, the first one ranks and the others are columns");
  parser.add_choice(verb, "--better", compare.better, {"higher", "lower"},
                    "which values are better; default: as recorded in the runs' score.json");
  verb.add_flag("--best", compare.best, "compare each run's best epoch instead of its last");
  verb.add_flag(
      "--paired", compare.paired,
      "compare scores query by query (or pair by pair) instead of run by run; intervals are over "
      "items or people");
  CLI::Option* csv = verb.add_flag("--csv", compare.csv, "print CSV, one row per group");
  CLI::Option* json = verb.add_flag("--json", compare.json, "print JSON")->excludes(csv);
  CLI::Option* markdown =
      verb.add_flag("--markdown", compare.markdown, "print a Markdown table")->excludes(csv, json);
  verb.add_flag("--latex", compare.latex, "print a LaTeX table, which needs the package booktabs")
      ->excludes(csv, json, markdown);
}

void add_check(CommandParser& parser) {
  const auto [verb, check] = parser.add<CheckArguments>(
      "check", "Check pipeline files without running them", "pipelines/*.toml --json", check_verb);
  add_value(verb, "files", check.files, "FILE", "the pipeline files")->required();
  add_variant(verb, check.variants,
              "check the file with this variant; default: without variants, and with each of them");
  add_set(verb, check.set);
  add_plugin_path(verb, check.plugin_paths);
  CLI::Option* json = verb.add_flag("--json", check.json, "print all problems as one JSON array");
  CLI::Option* deep =
      verb.add_flag("--deep", check.deep,
                    "also open all stages and run one batch through each flow of the schedule; "
                    "keeps no files")
          ->excludes(json);
  verb.add_flag("--data", check.data,
                "also prepare each image that the sources provide, and list those that a run could "
                "not use; keeps no files")
      ->excludes(json, deep);
}

void add_plugins(CommandParser& parser) {
  const auto [verb, plugins] = parser.add<PluginsArguments>(
      "plugins", "List the plugins and their stages", "--json", plugins_verb);
  add_plugin_path(verb, plugins.plugin_paths);
  verb.add_flag("--json", plugins.json, "print JSON");
  verb.add_flag("--load", plugins.load, "load each plugin, and report errors");
}

void add_inspect(CommandParser& parser) {
  const auto [verb, inspect] = parser.add<InspectArguments>(
      "inspect", "Describe a stage (its parameters, fields, interfaces and network) or a field",
      "image.decode\n         seam inspect pipelines/demo.toml model", inspect_verb);
  add_value(verb, "stage", inspect.words, std::string(file_and_stage),
            "the stage type, as in `use`, or a field such as embedding; after a pipeline "
            "file or a run folder, the name of a stage in it")
      ->required()
      ->expected(1, -1);  // two at most, but the parser would write "stage(1x)"
  verb.parse_complete_callback([&inspect = inspect] {
    if (inspect.words.size() > 2) {
      throw CLI::ArgumentMismatch("expected STAGE or FILE STAGE; unexpected argument '" +
                                  inspect.words[2] + "'");
    }
    inspect.stage = inspect.words.back();
    if (inspect.words.size() > 1) inspect.file = inspect.words.front();
  });
  CLI::Option* variant = add_variant(verb, inspect.variants);
  repeatable(verb, "--set", inspect.set, "KEY=VALUE",
             "set a parameter, such as classes=50; with a file, set one of its keys, such as "
             "stage.model.classes=50; may be repeated");
  add_plugin_path(verb, inspect.plugin_paths);
  CLI::Option* json = verb.add_flag("--json", inspect.json, "print JSON");
  verb.add_flag("--markdown", inspect.markdown, "print the stage's documentation page")
      ->excludes(json)
      ->excludes(verb.get_option("--set"))
      ->excludes(variant);
}

void add_graph(CommandParser& parser) {
  const auto [verb, graph] = parser.add<GraphArguments>(
      "graph", "Draw a pipeline's flows",
      "pipelines/demo.toml --format dot | dot -Tsvg -o demo.svg", graph_verb);
  add_value(verb, "file", graph.file, "FILE", "a pipeline file or a run folder")->required();
  parser.add_choice(verb, "--format", graph.format, {"dot", "mermaid"},
                    "dot (Graphviz) or mermaid");
  add_variant(verb, graph.variants);
  add_set(verb, graph.set);
  add_plugin_path(verb, graph.plugin_paths);
}

void add_report(CommandParser& parser) {
  const auto [verb, report] = parser.add<ReportArguments>(
      "report", "Write one HTML page of a run, of several side by side, or of a sweep",
      "runs/demo-20260301-093000-1\n         seam report runs/first "
      "runs/second --output compared.html",
      report_verb);
  add_value(
      verb, "run", report.runs, "DIR",
      "run folders; for a single sweep folder or folder of runs, the page is a table of its runs")
      ->required()
      ->expected(1, -1);
  add_value(verb, "--output", report.output, "FILE",
            "the file to write; default: report.html in the folder, if only one is given");
}

void add_schema(CommandParser& parser) {
  const auto [verb, schema] =
      parser.add<SchemaArguments>("schema", "Print the JSON Schema of pipeline files, for editors",
                                  "> seam.schema.json", schema_verb);
  add_plugin_path(verb, schema.plugin_paths);
}

void add_new(CommandParser& parser) {
  CLI::App& parent = parser.add_group("new", "Create a plugin project or a pipeline file",
                                      "new plugin acme.unsharp_mask");
  const auto [plugin, new_plugin] = parser.add_to<NewPluginArguments>(
      parent, "plugin", "new plugin acme.unsharp_mask --kind transform",
      "Create a plugin project: a stage, its test and a pipeline that runs it", new_plugin_verb);
  add_value(plugin, "name", new_plugin.name, "NAME", "the stage type, as in `use`")->required();
  parser.add_choice(
      plugin, "--kind", new_plugin.kind,
      {"transform", "source", "collector", "sink", "tensor", "model", "loss"},
      "kind of stage; tensor: a transform on LibTorch's tensors; model: one that is a "
      "neural network; loss: one that adds to what an optimizer trains");
  add_value(plugin, "--output", new_plugin.output, "DIR",
            "folder to create; default: named after the stage");
  const auto [pipeline, new_pipeline] = parser.add_to<NewPipelineArguments>(
      parent, "pipeline", "new pipeline first_try",
      "Create a pipeline file for training, and the JSON Schema for editors", new_pipeline_verb);
  add_value(pipeline, "name", new_pipeline.name, "NAME", "file name; .toml is optional")
      ->required();
  add_value(pipeline, "--table", new_pipeline.table, "FILE",
            "a CSV file of your images, with columns path (or file), item (or label) and "
            "optionally split; default: images that Seam draws");
}

void add_doctor(CommandParser& parser) {
  const auto [verb, doctor] =
      parser.add<DoctorArguments>("doctor", "Show version, resources and plugins", "", doctor_verb);
  add_plugin_path(verb, doctor.plugin_paths);
  add_value(verb, "--crash", doctor.crash, "FILE",
            "show the source lines of the last crash in this file: a run.log, or the output "
            "of a program that crashed");
}

/// Commands for other programs (completion, manual pages) bypass the parser, because a partial
/// command line does not parse.
ExitCode ask(int count, const char* const* arguments) {
  CommandParser parser;
  for (const auto add :
       {add_run, add_eval, add_sweep, add_runs, add_shards, add_compare, add_check, add_plugins,
        add_inspect, add_graph, add_report, add_schema, add_new, add_doctor}) {
    add(parser);
  }
  const std::string_view first = count > 1 ? arguments[1] : "";
  if (first == "complete") return complete_verb(parser.help(), {arguments + 2, arguments + count});
  if (first == "manual" && count == 3) return manual_verb(parser.help(), arguments[2]);
  return parser.go(count, arguments);
}

/// Returns whether standard output is a pipe whose reader has closed it.
bool reader_is_gone() {
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&output, 1, 0) > 0 && (output.revents & POLLERR) != 0;
}

}  // namespace

int run_command_line(int count, const char* const* arguments) {
  ExitCode code = ExitCode::internal;
  try {
    code = ask(count, arguments);
  } catch (const Error& error) {
    code = report_error(error);
  } catch (const std::exception& error) {
    code = report_error(Error(error.what(), Fault::internal));
  }
  std::cout.flush();
  // A run also writes its results to its folder, and a reader that closes the pipe does not need
  // the rest.
  const std::string_view verb = count > 1 ? arguments[1] : "";
  const bool is_run = verb == "run" || verb == "eval" || verb == "sweep";
  if (!std::cout && code == ExitCode::success && !is_run && !reader_is_gone()) {
    code = report_error(Error("the output could not be written", Fault::data));
  }
  return static_cast<int>(code);
}

}  // namespace seam::host
