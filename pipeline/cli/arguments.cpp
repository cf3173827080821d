#include "pipeline/cli/arguments.hpp"

#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/cli/report.hpp"
#include "pipeline/cli/verbs.hpp"
#include "pipeline/config/settings.hpp"
#include "pipeline/run/run_directory.hpp"
#include "pipeline/run/time_limit.hpp"
#include "pipeline/text/nearest.hpp"

namespace seam::host {
namespace {

constexpr int most_threads = 4096;
constexpr int most_draws = 10'000;

/// An option that may be repeated and takes one value each time, so that a file name after it is
/// not taken for another value.
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

/// All verbs, their arguments and the one that was chosen.
class CommandLine {
 public:
  CommandLine() {
    app_.require_subcommand(1);
    app_.set_version_flag("--version", "seam " + seam_version());
    app_.set_help_flag("-h,--help", "show this help");
    app_.footer(
        "Example: seam run pipelines/demo.toml --set schedule.epochs=2\n"
        "`seam COMMAND --help` describes a command. Exit codes: 0 success, 2 configuration,\n"
        "3 data, 4 cancelled, 5 internal, 6 incomplete.");
    add_run();
    add_sweep();
    add_runs();
    add_compare();
    add_check();
    add_plugins();
    add_inspect();
    add_graph();
    add_report();
    add_schema();
    add_new();
    add_doctor();
  }

  /// All of it, for manual pages and completion.
  [[nodiscard]] ProgramHelp help() const {
    ProgramHelp help{app_.get_description(), {}};
    for (const CLI::App* verb : all_of(app_)) {
      const std::vector<const CLI::App*> parts = all_of(*verb);
      if (parts.empty()) help.verbs.push_back(help_of(*verb, verb->get_name()));
      for (const CLI::App* part : parts) {
        help.verbs.push_back(help_of(*part, verb->get_name() + " " + part->get_name()));
      }
    }
    return help;
  }

  ExitCode go(int count, const char* const* arguments) {
    if (count > 1 && !known(arguments[1])) return unknown_verb(arguments[1]);
    try {
      app_.parse(count, arguments);
    } catch (const CLI::Success& asked) {  // --help and --version come as exceptions
      app_.exit(asked);
      return ExitCode::success;
    } catch (const CLI::ParseError& error) {
      const std::string verb = chosen_name();
      std::cerr << "seam: error: " << error.what() << "\ntry: seam " << verb
                << (verb.empty() ? "" : " ") << "--help" << std::endl;
      return ExitCode::configuration;
    }
    return chosen_();
  }

 private:
  CLI::App& add(const std::string& name, const std::string& doc, const std::string& example,
                std::function<ExitCode()> verb) {
    return add_to(app_, name, name + " " + example, doc, std::move(verb));
  }

  /// `example`: what stands behind the program's name.
  CLI::App& add_to(CLI::App& parent, const std::string& name, const std::string& example,
                   const std::string& doc, std::function<ExitCode()> verb) {
    CLI::App& added = *parent.add_subcommand(name, doc);
    added.set_help_flag("-h,--help", "show this help");
    added.footer("Example: seam " + example);
    added.callback([this, verb = std::move(verb)] { chosen_ = verb; });
    return added;
  }

  /// An option that takes one of these words.
  void add_choice(CLI::App& verb, const std::string& name, std::string& value,
                  const std::vector<std::string>& choices, const std::string& doc) {
    CLI::Option* option = verb.add_option(name, value, doc)
                              ->type_name(upper(name))
                              ->check(CLI::IsMember(choices).description(""))
                              ->capture_default_str();
    choices_[option] = choices;
  }

  static std::string upper(const std::string& option) {
    std::string text = option.substr(2);
    for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return text;
  }

  static std::vector<const CLI::App*> all_of(const CLI::App& parent) {
    return parent.get_subcommands([](const CLI::App*) { return true; });
  }

  [[nodiscard]] VerbHelp help_of(const CLI::App& verb, const std::string& name) const {
    const std::string example = "Example: seam " + name + " ";
    const std::string footer = verb.get_footer();
    VerbHelp help{name,
                  verb.get_description(),
                  footer.starts_with(example) ? footer.substr(example.size()) : std::string(),
                  {}};
    for (const CLI::Option* option : verb.get_options()) {
      if (option == verb.get_help_ptr()) continue;
      const bool flag = option->get_items_expected_max() == 0;
      const auto choices = choices_.find(option);
      help.options.push_back(
          {option->get_positional() ? option->get_name(true) : "--" + option->get_lnames().front(),
           flag ? std::string() : option->get_type_name(), option->get_description(),
           choices == choices_.end() ? std::vector<std::string>{} : choices->second});
    }
    return help;
  }

  void add_run() {
    CLI::App& verb = add("run", "Run a pipeline file, or resume an earlier run",
                         "pipelines/demo.toml --threads 4\n         seam run --resume "
                         "runs/demo-20260301-093000-1",
                         [this] { return run_verb(run_); });
    CLI::Option* file = verb.add_option("file", run_.file, "the pipeline file")->type_name("FILE");
    CLI::Option* resume = verb.add_option("--resume", run_.resume, "resume the run in this folder")
                              ->type_name("DIR")
                              ->excludes(file);
    add_set(verb, run_.set);
    verb.add_option("--threads", run_.threads,
                    "thread limit; default: `threads` of the file, then the available cores")
        ->type_name("N")
        ->check(CLI::Range(1, most_threads).description(""));
    add_numerics(verb);
    add_plugin_path(verb, run_.plugin_paths);
    verb.add_option("--run-dir", run_.run_directory,
                    "folder of the run; default: runs/NAME-DATE-TIME-N")
        ->type_name("DIR")
        ->excludes(resume);
    verb.add_option("--trace", run_.trace, "write a timeline of all stages, for ui.perfetto.dev")
        ->type_name("FILE");
    verb.add_option("--time-limit", run_.time_limit,
                    "stop after this time as on SIGTERM, with a checkpoint: 3h, 90m, 1h30m")
        ->type_name("TIME")
        ->check(CLI::Validator(
            [](const std::string& text) {
              return duration_of(text) ? std::string()
                                       : "it takes hours, minutes and seconds, such as 3h, 90m or "
                                         "1h30m, not " +
                                             text;
            },
            ""));
    verb.get_option("--set")->excludes(resume);
    add_choice(verb, "--color", run_.colour, {"auto", "always", "never"},
               "colours; auto: on a terminal, unless NO_COLOR is set");
    verb.add_flag("--timing", run_.timing, "at the end, print the times of all stages");
    verb.add_flag("--quiet", run_.quiet, "print only the score, warnings and errors");
    verb.parse_complete_callback([file, resume] {
      if (file->empty() && resume->empty()) {
        throw CLI::RequiredError("a pipeline FILE, or --resume DIR,");
      }
    });
  }

  /// Where and in what a run computes.
  void add_numerics(CLI::App& verb) {
    verb.add_option(
            "--device", run_.device,
            "device to compute on: cpu, cuda, cuda:1 or auto; default: `device` of the file")
        ->type_name("DEVICE")
        ->check(CLI::Validator(
            [](const std::string& text) {
              return is_device(text) ? std::string()
                                     : "it takes " + std::string(device_forms) + ", not " + text;
            },
            ""));
    add_choice(verb, "--precision", run_.precision, {"float32", "bfloat16"},
               "floating-point precision; default: `precision` of the file");
    const auto say = [this](bool value) {
      return [this, value](std::int64_t /*times*/) { run_.deterministic = value; };
    };
    CLI::Option* deterministic =
        verb.add_flag("--deterministic", say(true), "use only deterministic operations");
    verb.add_flag("--no-deterministic", say(false),
                  "also use nondeterministic operations, which may be faster on a GPU")
        ->excludes(deterministic);
  }

  void add_sweep() {
    CLI::App& verb =
        add("sweep", "Run a pipeline file for each combination of parameters' values",
            "pipelines/demo.toml --over stage.triplet_loss.margin=0.2,0.5,1 --over "
            "pipeline.seed=1..3\n         seam sweep --resume runs/demo-sweep-20260301-093000-1",
            [this] { return sweep_verb(sweep_); });
    CLI::Option* file =
        verb.add_option("file", sweep_.file, "the pipeline file")->type_name("FILE");
    CLI::Option* resume =
        verb.add_option("--resume", sweep_.resume, "resume the sweep in this folder")
            ->type_name("DIR")
            ->excludes(file);
    repeatable(verb, "--over", sweep_.over, "KEY=VALUES",
               "values to go through, such as stage.loss.margin=0.2,0.5,1 or pipeline.seed=1..3; "
               "else what the file's [sweep] says; may be repeated");
    verb.add_option("--random", sweep_.random,
                    "draw so many combinations, also from ranges such as 1e-4..1e-2:log")
        ->type_name("N")
        ->check(CLI::Range(1, most_draws).description(""));
    verb.add_option("--random-seed", sweep_.random_seed, "of the drawing")->type_name("N");
    add_set(verb, sweep_.set);
    verb.add_option("--jobs", sweep_.jobs, "runs at a time; 1 where it is not said")
        ->type_name("N")
        ->check(CLI::Range(1, most_threads).description(""));
    verb.add_option("--threads", sweep_.threads, "threads of all runs together")
        ->type_name("N")
        ->check(CLI::Range(1, most_threads).description(""));
    add_plugin_path(verb, sweep_.plugin_paths);
    verb.add_option("--sweep-dir", sweep_.sweep_directory,
                    "folder to leave the sweep in; else runs/NAME-sweep-DATE-TIME-N")
        ->type_name("DIR");
    verb.add_flag("--dry-run", sweep_.dry_run, "check all runs and list them, but run none");
    for (const char* fixed : {"--over", "--random", "--random-seed", "--set", "--plugin-path",
                              "--sweep-dir", "--dry-run"}) {
      verb.get_option(fixed)->excludes(resume);
    }
    verb.parse_complete_callback([file, resume] {
      if (file->empty() && resume->empty()) {
        throw CLI::RequiredError("a pipeline FILE, or --resume DIR,");
      }
    });
  }

  void add_runs() {
    CLI::App& verb = add("runs", "List the runs of a folder: how they ended, what they reached", "",
                         [this] { return runs_verb(runs_); });
    verb.add_option("folder", runs_.folder, "the folder of runs, a sweep, or a run; else runs")
        ->type_name("DIR");
    verb.add_option("--metric", runs_.metric,
                    "[FLOW:]STAGE.METRIC to show; else the one by which each run is judged")
        ->type_name("METRIC");
    verb.add_flag("--json", runs_.json, "for programs");
  }

  void add_compare() {
    CLI::App& verb = add("compare", "Rank runs by a metric, over seeds and folds",
                         "runs/demo-sweep-20260301-093000-1 --metric recall.none.r@1",
                         [this] { return compare_verb(compare_); });
    verb.add_option("runs", compare_.runs, "folders of runs; a sweep's stands for its runs")
        ->type_name("DIR")
        ->required();
    verb.add_option("--metric", compare_.metric,
                    "[FLOW:]STAGE.METRIC to rank by; else the one by which the runs are judged")
        ->type_name("METRIC");
    CLI::Option* better =
        verb.add_option("--better", compare_.better,
                        "which values are better, higher or lower; else what the runs say")
            ->type_name("BETTER")
            ->check(CLI::IsMember({"higher", "lower"}).description(""));
    choices_[better] = {"higher", "lower"};
    verb.add_flag("--best", compare_.best, "each run's best epoch instead of its last");
    CLI::Option* csv = verb.add_flag("--csv", compare_.csv, "a row for each group, as CSV");
    verb.add_flag("--json", compare_.json, "for programs")->excludes(csv);
  }

  void add_check() {
    CLI::App& verb = add("check", "Check pipeline files without running them",
                         "pipelines/*.toml --json", [this] { return check_verb(check_); });
    verb.add_option("files", check_.files, "the pipeline files")->type_name("FILE")->required();
    add_set(verb, check_.set);
    add_plugin_path(verb, check_.plugin_paths);
    verb.add_flag("--json", check_.json, "print all problems as one JSON array");
  }

  void add_plugins() {
    CLI::App& verb = add("plugins", "List the plugins and their stages", "--json",
                         [this] { return plugins_verb(plugins_); });
    add_plugin_path(verb, plugins_.plugin_paths);
    verb.add_flag("--json", plugins_.json, "print JSON");
    verb.add_flag("--load", plugins_.load, "load each plugin, and report errors");
  }

  void add_inspect() {
    CLI::App& verb = add(
        "inspect", "Describe a stage: its parameters, fields, interfaces and network; or a field",
        "image.decode\n         seam inspect pipelines/demo.toml model", [this] {
          inspect_.stage = inspected_.back();
          if (inspected_.size() > 1) inspect_.file = inspected_.front();
          return inspect_verb(inspect_);
        });
    verb.add_option("stage", inspected_,
                    "the stage type, as in `use`, or a field such as embedding; after a pipeline "
                    "file or a run folder, the name of a stage in it")
        ->type_name(std::string(file_and_stage))
        ->required()
        ->expected(1, -1);  // two at most, but the parser would write "stage(1x)"
    verb.parse_complete_callback([this] {
      if (inspected_.size() > 2) {
        throw CLI::ArgumentMismatch("expected STAGE, or FILE and STAGE, but there is also '" +
                                    inspected_[2] + "'");
      }
    });
    repeatable(verb, "--set", inspect_.set, "KEY=VALUE",
               "set a parameter, such as classes=50; with a file, set one of its keys, such as "
               "stage.model.classes=50; may be repeated");
    add_plugin_path(verb, inspect_.plugin_paths);
    CLI::Option* json = verb.add_flag("--json", inspect_.json, "print JSON");
    verb.add_flag("--markdown", inspect_.markdown, "print the page of the documentation")
        ->excludes(json)
        ->excludes(verb.get_option("--set"));
  }

  void add_graph() {
    CLI::App& verb = add("graph", "Draw a pipeline's flows",
                         "pipelines/demo.toml --format dot | dot -Tsvg -o demo.svg",
                         [this] { return graph_verb(graph_); });
    verb.add_option("file", graph_.file, "a pipeline file or a run folder")
        ->type_name("FILE")
        ->required();
    add_choice(verb, "--format", graph_.format, {"dot", "mermaid"}, "dot (Graphviz) or mermaid");
    add_set(verb, graph_.set);
    add_plugin_path(verb, graph_.plugin_paths);
  }

  void add_report() {
    CLI::App& verb = add("report", "Write one HTML page of a run, or of several side by side",
                         "runs/demo-20260301-093000-1\n         seam report runs/first "
                         "runs/second --output compared.html",
                         [this] { return report_verb(report_); });
    verb.add_option("run", report_.runs, "the folders of the runs")
        ->type_name("DIR")
        ->required()
        ->expected(1, -1);
    verb.add_option("--output", report_.output,
                    "the file to write; for a single run else report.html in its folder")
        ->type_name("FILE");
  }

  void add_schema() {
    CLI::App& verb = add("schema", "Print the JSON Schema of pipeline files, for editors",
                         "> seam.schema.json", [this] { return schema_verb(schema_); });
    add_plugin_path(verb, schema_.plugin_paths);
  }

  void add_new() {
    CLI::App& parent = *app_.add_subcommand("new", "Create a plugin project or a pipeline file");
    parent.set_help_flag("-h,--help", "show this help");
    parent.require_subcommand(1);
    parent.footer("Example: seam new plugin acme.unsharp_mask");
    CLI::App& plugin =
        add_to(parent, "plugin", "new plugin acme.unsharp_mask --kind transform",
               "Create a plugin project: a stage, its test and a pipeline that runs it",
               [this] { return new_plugin_verb(new_plugin_); });
    plugin.add_option("name", new_plugin_.name, "the stage type, as in `use`")
        ->type_name("NAME")
        ->required();
    add_choice(plugin, "--kind", new_plugin_.kind,
               {"transform", "source", "collector", "sink", "model"},
               "kind of stage; model: a transform that is a neural network");
    plugin.add_flag("--tensor", new_plugin_.tensor, "use tensors, with LibTorch");
    plugin
        .add_option("--output", new_plugin_.output,
                    "folder to create; default: named after the stage")
        ->type_name("DIR");
    CLI::App& pipeline =
        add_to(parent, "pipeline", "new pipeline first_try",
               "Create a pipeline file for training, and the JSON Schema for editors",
               [this] { return new_pipeline_verb(new_pipeline_); });
    pipeline.add_option("name", new_pipeline_.name, "file name; .toml is optional")
        ->type_name("NAME")
        ->required();
  }

  void add_doctor() {
    CLI::App& verb = add("doctor", "Show version, resources and plugins", "",
                         [this] { return doctor_verb(doctor_); });
    add_plugin_path(verb, doctor_.plugin_paths);
  }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const CLI::App* verb : app_.get_subcommands([](const CLI::App*) { return true; })) {
      names.push_back(verb->get_name());
    }
    return names;
  }

  [[nodiscard]] bool known(const std::string& first) const {
    const std::vector<std::string> verbs = names();
    return first.starts_with("-") || std::find(verbs.begin(), verbs.end(), first) != verbs.end();
  }

  [[nodiscard]] std::string chosen_name() const {
    std::string name;
    for (auto chosen = app_.get_subcommands(); !chosen.empty();
         chosen = chosen.front()->get_subcommands()) {
      name += (name.empty() ? "" : " ") + chosen.front()->get_name();
    }
    return name;
  }

  ExitCode unknown_verb(const std::string& verb) const {
    const std::string nearest = did_you_mean(verb, names());
    std::cerr << "seam: error: unknown command '" << verb << "'"
              << (nearest.empty() ? "" : "; " + nearest) << "\ncommands: " << enumerated(names())
              << std::endl;
    return ExitCode::configuration;
  }

  CLI::App app_{"Image retrieval as dataflow pipelines of plugin stages", "seam"};
  std::function<ExitCode()> chosen_;
  RunArguments run_;
  SweepArguments sweep_;
  RunsArguments runs_;
  CompareArguments compare_;
  CheckArguments check_;
  PluginsArguments plugins_;
  InspectArguments inspect_;
  std::vector<std::string> inspected_;  ///< [FILE] STAGE
  GraphArguments graph_;
  ReportArguments report_;
  SchemaArguments schema_;
  NewPluginArguments new_plugin_;
  NewPipelineArguments new_pipeline_;
  DoctorArguments doctor_;
  std::map<const CLI::Option*, std::vector<std::string>> choices_;
};

/// What other programs ask stands outside the parser: half a command line is no command line.
ExitCode ask(int count, const char* const* arguments) {
  CommandLine command_line;
  const std::string_view first = count > 1 ? arguments[1] : "";
  if (first == "complete") {
    return complete_verb(command_line.help(), {arguments + 2, arguments + count});
  }
  if (first == "manual" && count == 3) return manual_verb(command_line.help(), arguments[2]);
  return command_line.go(count, arguments);
}

/// Whether standard output is a pipe that nobody reads any more.
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
  // What a run has to say stands in its folder as well; whoever closes a pipe has seen enough.
  const std::string_view verb = count > 1 ? arguments[1] : "";
  const bool is_run = verb == "run" || verb == "sweep";
  if (!std::cout && code == ExitCode::success && !is_run && !reader_is_gone()) {
    code = report_error(Error("the output could not be written", Fault::data));
  }
  return static_cast<int>(code);
}

}  // namespace seam::host
