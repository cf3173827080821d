#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/cli/loading.hpp"
#include "pipeline/cli/trial.hpp"
#include "pipeline/config/axis.hpp"
#include "pipeline/config/sweep.hpp"
#include "pipeline/experiments/sweep.hpp"
#include "pipeline/run/clock.hpp"
#include "pipeline/run/counted_categories.hpp"
#include "pipeline/run/display.hpp"
#include "pipeline/run/schedule.hpp"
#include "pipeline/run/twin.hpp"
#include "pipeline/text/count.hpp"
#include "pipeline/text/json.hpp"
#include "pipeline/text/lists.hpp"
#include "pipeline/text/nearest.hpp"

namespace seam::host {
namespace {

std::size_t errors_in(const std::vector<Problem>& problems) {
  return static_cast<std::size_t>(
      std::ranges::count(problems, Severity::error, &Problem::severity));
}

/// Checks the file with each combination of its variants. Adds the problems that the file without
/// variants does not have, each with the first combination that has it. Returns the number of
/// combinations.
std::size_t check_variants_of(const LoadOptions& base, const VariantNames& variants,
                              std::vector<Problem>& problems) {
  const auto choices = choices_of(variants);
  for (const std::vector<std::string>& choice : choices) {
    LoadOptions options = base;
    options.variants = choice;
    for (Problem& problem : prepare_run(std::move(options), std::nullopt).loaded.problems) {
      if (contains(problems, identity_of(problem), identity_of)) continue;
      problem.notes.push_back(fmt::format("with --variant {}", fmt::join(choice, ",")));
      problems.push_back(std::move(problem));
    }
  }
  return choices.size();
}

/// Compares the file with its twin, if it has one. Returns "; twin of a.toml but for stage.model".
std::string check_twin_of(const LoadOptions& base, const PipelineSpec& spec,
                          std::vector<Problem>& problems) {
  const std::filesystem::path file = twin_of(spec);
  if (file.empty() && !spec.differs_in.empty()) {
    problems.push_back(twin_problem(spec, "`differs_in` has no effect without `twin`"));
  }
  // Overrides and variants may be meant to change one of the two.
  if (file.empty() || !base.overrides.empty() || !base.variants.empty()) return {};
  LoadOptions options = base;
  options.file = file;
  const LoadResult twin = load_pipeline(options);
  if (!twin.pipeline) {
    problems.push_back(twin_problem(spec, "its twin '" + file.string() + "' has errors"));
    return {};
  }
  std::ranges::move(check_twin(spec, twin.pipeline->spec.resolved), std::back_inserter(problems));
  return "; twin of " + spec.twin +
         (spec.differs_in.empty() ? "" : " but for " + enumerated(spec.differs_in));
}

/// Whether the sweep goes over variants of a group from which one was chosen, or over all those
/// without a group: it then cannot run with this choice.
bool goes_over_chosen(const LoadedSweep& table, const std::vector<std::string>& chosen) {
  try {
    const std::vector<Axis> axes = parse_axes(table.spec.over, table.variants);
    return std::ranges::any_of(chosen, [&](const std::string& variant) {
      const VariantGroup* group = table.variants.group_of(variant);
      return std::ranges::any_of(axes, [&](const Axis& axis) {
        const std::string& key = axis.keys.front();
        return (group != nullptr && key == "variant." + group->name) ||
               contains(axis.values, variant);
      });
    });
  } catch (const Error&) {
    return false;  // the check of the sweep reports it
  }
}

/// Checks the runs of the file's [sweep], if it has one, and returns their number.
std::size_t check_runs_of_sweep(const std::string& file, const CheckArguments& arguments,
                                std::vector<Problem>& problems) {
  SweepRequest request;
  request.file = file;
  request.variants = arguments.variants;
  request.set = arguments.set;
  request.plugin_paths = arguments.plugin_paths;
  request.environment = process_environment();
  try {
    CheckedSweep sweep = check_sweep(request);
    for (Problem& problem : sweep.problems) {
      if (problem.severity == Severity::error) problems.push_back(std::move(problem));
    }
    return sweep.plan.runs.size();
  } catch (const Error& error) {
    problems.push_back(
        {Severity::error, "sweep", "[sweep]: " + error.full_message(), {file}, {}, {}});
    return 0;
  }
}

/// Packets that were prepared for the batches, such as decoded images.
std::uint64_t prepared_packets(const RunSummary& summary) {
  std::uint64_t sum = 0;
  for (const FlowTotal& flow : summary.flows) {
    std::uint64_t most = 0;
    for (const StageCount& count : flow.stages) {
      if (count.kind == StageKind::parallel_transform) most = std::max(most, count.received);
    }
    sum += most;
  }
  return sum;
}

std::string cost_text(const RunSummary& summary) {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  std::string text =
      fmt::format("one batch through each of {} in {}: {} prepared, at most {} MiB of memory",
                  counted(summary.flows.size(), "flow"), duration_text(summary.seconds),
                  packets_text(prepared_packets(summary)), usage.ru_maxrss / 1024);
  if (summary.skipped_packets > 0) {
    text += fmt::format("; on_error = \"skip\" skipped {}", packets_text(summary.skipped_packets));
  }
  return text;
}

/// Prints each unusable image once, as "data/a.jpg:3: it is not a picture (in decode)".
std::size_t print_unusable(const std::filesystem::path& skipped) {
  std::set<std::string> seen;
  std::ifstream lines(skipped);
  for (std::string line; std::getline(lines, line);) {
    const Json json = parse_json(line);
    if (json.contains("not_listed")) {
      std::cerr << "and " << json_line(json.at("not_listed")) << " more\n";
      continue;
    }
    const std::string text =
        fmt::format("{}: {} (in {})", json.at("origin").get<std::string>(),
                    json.at("message").get<std::string>(), json.at("stage").get<std::string>());
    if (seen.insert(text).second) std::cerr << text << "\n";
  }
  return seen.size();
}

using Chain = std::vector<std::string>;

void add_provided(const StageRunner& stage, std::set<std::string>& fields) {
  for (const FieldInfo& field : stage.description().provides) fields.insert(field.name);
}

/// Adds the ways on from `node`, one per branch, to a batch, a tensor or a join. `chain`: the
/// stages so far; `fields`: what they provide.
void add_chains(const CheckedPipeline& pipeline, const FlowSpec& flow, std::size_t node,
                const Chain& chain, const std::set<std::string>& fields,
                std::vector<Chain>& chains) {
  bool is_end = true;
  for (std::size_t next = 0; next < flow.nodes.size(); ++next) {
    if (flow.nodes[next].inputs != std::vector{node}) continue;
    const StageRunner& stage = *pipeline.stages.at(flow.nodes[next].stage);
    const bool is_sampler =
        stage.kind() == StageKind::collector && !stage.description().replaces_packets;
    const bool is_transform =
        stage.kind() == StageKind::transform || stage.kind() == StageKind::parallel_transform;
    const bool fed = std::ranges::all_of(stage.description().needs, [&](const FieldInfo& field) {
      return fields.contains(field.name);
    });
    const bool prepares = is_transform && fed && !stage.on_compute_thread();
    if (!is_sampler && !prepares) continue;
    is_end = false;
    Chain longer = chain;
    std::set<std::string> more = fields;
    if (prepares) {
      longer.push_back(flow.nodes[next].stage);
      add_provided(stage, more);
    }
    add_chains(pipeline, flow, next, longer, more, chains);
  }
  if (is_end) chains.push_back(chain);
}

/// The source at `node` and the stages that prepare its images, in order, for each branch.
std::vector<Chain> preparing_chains(const CheckedPipeline& pipeline, const FlowSpec& flow,
                                    std::size_t node) {
  std::vector<Chain> chains;
  std::set<std::string> fields;
  const std::string& source = flow.nodes[node].stage;
  add_provided(*pipeline.stages.at(source), fields);
  add_chains(pipeline, flow, node, {source}, fields, chains);
  return chains;
}

FlowSpec flow_of(const Chain& chain, std::string name) {
  FlowSpec flow;
  flow.name = std::move(name);
  for (std::size_t at = 0; at < chain.size(); ++at) {
    FlowNode node;
    node.stage = chain[at];
    if (at > 0) node.inputs = {at - 1};
    flow.nodes.push_back(std::move(node));
    flow.text += (at > 0 ? " -> " : "") + chain[at];
  }
  return flow;
}

/// Returns one flow per source of the scheduled flows and branch, named after the source: its
/// serial and parallel transforms up to the first batch, tensor or join. Samplers are skipped,
/// because they repeat and drop packets, and the flow ends at a stage that needs a sampler's
/// fields. Equal flows are returned once.
///
///     train_items -> pairs -> decode -> resize -> pair_batch -> model -> ...
///          └──────────────────► decode -> resize
std::vector<FlowSpec> data_flows(const CheckedPipeline& pipeline) {
  std::vector<FlowSpec> flows;
  std::set<Chain> seen;
  for (const std::string& scheduled : scheduled_flows(pipeline.spec.schedule)) {
    const FlowSpec& flow = flow_named(pipeline.spec, scheduled);
    for (std::size_t node = 0; node < flow.nodes.size(); ++node) {
      if (!flow.nodes[node].inputs.empty()) continue;
      for (const Chain& chain : preparing_chains(pipeline, flow, node)) {
        if (chain.size() < 2 || !seen.insert(chain).second) continue;
        const auto uses = std::ranges::count_if(
            flows, [&](const FlowSpec& one) { return one.nodes.front().stage == chain.front(); });
        flows.push_back(flow_of(
            chain, chain.front() + (uses > 0 ? "_" + std::to_string(uses + 1) : std::string())));
      }
    }
  }
  return flows;
}

/// `seam check --deep`: one batch through each flow of the schedule; `seam check --data`: each
/// image through the stages that prepare it. Both are runs in a temporary folder.
///
///     CheckedPipeline ──► open stages ──► before, one epoch, after: 1 batch each ──► exit code
///                                 └─────► data_flows: all packets ───────────────────┘
///
/// Handles signals as a run does, so that the temporary folder is removed if one ends the check.
class DeepCheck final {
 public:
  /// For loading the pipeline that check() runs. A data set that cannot be opened counts none,
  /// because check() reports it.
  [[nodiscard]] CategoryCount count_categories() const {
    return [count = category_count(nullptr, &stop_.state)](StageRunner& data) -> std::int64_t {
      try {
        return count(data);
      } catch (const Error&) {
        return 0;
      }
    };
  }
  /// Changes `pipeline`'s schedule. Prints the errors, or the time and memory needed; returns the
  /// exit code of the run.
  ExitCode check(const std::string& file, CheckedPipeline& pipeline, int threads) {
    if (!pipeline.missing_data.empty()) {
      return report_error(
          missing_data_error("--deep cannot open the stages", pipeline.missing_data));
    }
    try {
      refuse_writing_elsewhere(pipeline, "--deep");
    } catch (const Error& error) {
      return report_error(error);
    }
    const ScratchFolder folder;
    pipeline.spec.schedule.epochs = 1;
    RunOptions options = trial_options(pipeline, folder, threads, stop_.state);
    options.extent = Extent::first_batch;
    std::ostringstream tables;  // not shown: the tables of one batch mean nothing
    Display display(tables, std::cerr, Display::Style::quiet);
    const RunSummary summary = run_pipeline(pipeline, options, display);
    if (summary.error) return report_error(*summary.error);
    if (summary.code == ExitCode::success) {
      std::cout << file << ": " << cost_text(summary) << std::endl;
    }
    return summary.code;
  }
  /// The same for every image that the sources provide: prints those that a run could not use.
  ExitCode check_data(const std::string& file, CheckedPipeline& pipeline, int threads) {
    if (!pipeline.missing_data.empty()) {
      return report_error(missing_data_error("--data cannot read the data", pipeline.missing_data));
    }
    PipelineSpec& spec = pipeline.spec;
    spec.flows = data_flows(pipeline);
    spec.schedule = ScheduleSpec();
    for (const FlowSpec& flow : spec.flows) spec.schedule.each_epoch.push_back({flow.name, 1});
    spec.tensorboard.reset();
    spec.max_errors.reset();
    spec.max_error_share.reset();
    for (StageSpec& stage : spec.stages) {
      if (pipeline.stages.at(stage.name)->kind() != StageKind::source)
        stage.on_error = OnError::skip;
    }
    if (spec.flows.empty()) {
      std::cout << file << ": no stage prepares images" << std::endl;
      return ExitCode::success;
    }
    const ScratchFolder folder;
    const RunOptions options = trial_options(pipeline, folder, threads, stop_.state);
    std::ostringstream tables;
    Display display(tables, std::cerr, Display::Style::quiet);
    const RunSummary summary = run_pipeline(pipeline, options, display);
    if (summary.error) return report_error(*summary.error);
    if (summary.code != ExitCode::success) return summary.code;
    const std::size_t unusable = print_unusable(options.run_directory / "skipped.jsonl");
    std::uint64_t packets = 0;
    for (const FlowTotal& flow : summary.flows) packets += flow.stages.front().emitted;
    std::cout << fmt::format(
                     "{}: {} prepared in {}: {}", file, packets_text(packets),
                     duration_text(summary.seconds),
                     unusable == 0 ? std::string("all can be used") : counted(unusable, "problem"))
              << std::endl;
    return unusable == 0 ? ExitCode::success : ExitCode::data;
  }

 private:
  TrialStop stop_;
};

}  // namespace

ExitCode check_verb(const CheckArguments& arguments) {
  std::vector<Problem> all;
  ExitCode of_deep = ExitCode::success;  // of the first file that fails
  std::optional<DeepCheck> deep;
  if (arguments.deep || arguments.data) deep.emplace();
  const std::unique_ptr<DescriptionCache> descriptions = user_descriptions();
  for (const std::string& file : arguments.files) {
    LoadOptions options = file_options(arguments);
    options.file = file;
    if (!deep) options.descriptions = descriptions.get();
    LoadOptions to_prepare = options;
    if (arguments.deep) to_prepare.count_categories = deep->count_categories();
    PreparedRun prepared = prepare_run(std::move(to_prepare), std::nullopt);
    LoadResult& loaded = prepared.loaded;
    std::size_t choices = 0;
    std::size_t runs = 0;
    std::string twin;
    if (loaded.pipeline && std::filesystem::is_regular_file(file)) {  // a pipe is read only once
      const LoadedSweep table = load_sweep(file, options.overrides, options.environment);
      if (options.variants.empty()) {
        choices = check_variants_of(options, table.variants, loaded.problems);
      }
      twin = check_twin_of(options, loaded.pipeline->spec, loaded.problems);
      if (!table.spec.over.empty() && !goes_over_chosen(table, options.variants))
        runs = check_runs_of_sweep(file, arguments, loaded.problems);
    }
    all.insert(all.end(), loaded.problems.begin(), loaded.problems.end());
    if (arguments.json) continue;
    report_problems(loaded.problems);
    if (errors_in(loaded.problems) == 0) {
      const PipelineSpec& spec = loaded.pipeline->spec;
      std::cout << file << ": ok: " << counted(spec.stages.size(), "stage") << ", "
                << counted(spec.flows.size(), "flow")
                << (choices > 0 ? "; " + counted(choices, "combination") + " of variants" : "")
                << (runs > 0 ? "; a sweep of " + counted(runs, "run") : "") << twin << std::endl;
      if (!deep) continue;
      const ExitCode code = arguments.deep
                                ? deep->check(file, *loaded.pipeline, prepared.threads)
                                : deep->check_data(file, *loaded.pipeline, prepared.threads);
      if (of_deep == ExitCode::success) of_deep = code;
      if (code == ExitCode::cancelled) break;
    } else {
      std::cerr << file << ": " << counted(errors_in(loaded.problems), "error") << std::endl;
    }
  }
  if (arguments.json) std::cout << to_json(all) << std::flush;
  return errors_in(all) == 0 ? of_deep : ExitCode::configuration;
}

}  // namespace seam::host
