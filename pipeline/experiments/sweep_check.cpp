/// check_sweep(): every combination of a sweep, before any of them runs.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <utility>

#include "pipeline/config/load.hpp"
#include "pipeline/config/parameters.hpp"
#include "pipeline/config/sweep.hpp"
#include "pipeline/experiments/sweep.hpp"
#include "pipeline/plugins/description_cache.hpp"
#include "pipeline/run/checksum.hpp"
#include "pipeline/run/clock.hpp"
#include "pipeline/run/data_files.hpp"
#include "pipeline/run/run.hpp"
#include "pipeline/text/lists.hpp"
#include "pipeline/text/refuse.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace fs = std::filesystem;
namespace {

/// Adds the run's settings to those that the request sets for all runs.
void apply_settings(const PlannedRun& run, LoadOptions& options) {
  for (const auto& [key, value] : run.settings) {
    if (is_variant_key(key)) {
      options.variants.push_back(value);
    } else {
      options.overrides.push_back(key + "=" + value);
    }
  }
}

void refuse_twins(const std::vector<PlannedRun>& runs, const std::vector<std::string>& pipelines) {
  std::map<Parameters, std::size_t> seen;
  for (std::size_t at = 0; at < pipelines.size(); ++at) {
    Parameters parameters = parameters_of(pipelines[at], runs[at].name);
    std::erase_if(parameters, [](const auto& entry) {
      return entry.first.starts_with("chosen.") || is_variant_key(entry.first);
    });
    const auto [first, is_new] = seen.emplace(std::move(parameters), at);
    if (is_new) continue;
    refuse("runs '{}' and '{}' would be identical; list each value once", runs[first->second].name,
           runs[at].name);
  }
}

/// Refuses runs whose stages would replace each other's files. `written`: by stage and path, the
/// runs of this shard before.
void refuse_shared_files(const PlannedRun& run, const CheckedPipeline& pipeline, const Shard& shard,
                         std::map<std::pair<std::string, std::string>, std::string>& written) {
  for (const WrittenElsewhere& outside : written_elsewhere(pipeline)) {
    if (!pipeline.stages.at(outside.stage)->description().only_writes) continue;
    const fs::path path = fs::path(outside.path) / "";  // "a" and "a/" are one folder
    const auto [before, is_new] =
        written.emplace(std::pair(outside.stage, path.lexically_normal().string()), run.name);
    const bool is_varied = std::ranges::any_of(
        run.settings, [&](const auto& setting) { return setting.first == outside.key; });
    if (is_new && (shard.of == 1 || is_varied)) continue;
    refuse(
        "stage '{}' would write to '{}' in {}, and replace the files of the first; use a path "
        "relative to the run folder: --set {}=FOLDER",
        outside.stage, outside.path,
        is_new ? "the runs of all shards"
               : fmt::format("runs '{}' and '{}'", before->second, run.name),
        outside.key);
  }
}

/// A hash of all that can change the run's results but paths, which may differ between machines.
std::string fingerprint_of(const CheckedPipeline& pipeline) {
  const Roles& roles = pipeline.spec.roles;
  std::string text;
  for (const auto& [key, value] : parameters_of(pipeline.spec.resolved, pipeline.spec.name)) {
    if (roles.changes_results(key) && !roles.is_path(key)) text += key + "=" + value + "\n";
  }
  return sha256(text);
}

/// With the runs of all shards. `prepare` loads the pipeline of one of the runs; its errors are
/// reported by the caller.
SweepPlan plan_of(const SweepRequest& request, const SweepSpec& spec, const VariantNames& variants,
                  const std::function<PreparedRun(const PlannedRun&)>& prepare) {
  const auto roles_with = [&prepare](const PlannedRun& run) {
    const PreparedRun prepared = prepare(run);
    return prepared.loaded.pipeline ? prepared.loaded.pipeline->spec.roles : Roles();
  };
  SweepPlan plan;
  plan.over = request.over.empty() ? spec.over : request.over;
  plan.random = request.random ? request.random : spec.random;
  plan.random_seed = request.random_seed.value_or(spec.random_seed);
  if (plan.over.empty()) {
    refuse(
        "there are no parameters to vary: set some with --over stage.loss.margin=0.2,0.5,1 or in a "
        "[sweep] table in '{}'",
        request.file.string());
  }
  std::optional<RandomSearch> random;
  if (plan.random) random = {*plan.random, plan.random_seed};
  const std::vector<Axis> axes = parse_axes(plan.over, variants);
  plan.runs = random ? draw_runs(axes, *random, roles_with) : plan_runs(axes, random, roles_of({}));
  plan.set = request.set;
  for (const std::string& variant : request.variants) plan.set.push_back("variant=" + variant);
  plan.file = fs::absolute(request.file).lexically_normal().string();
  plan.started = time_text(std::chrono::system_clock::now());
  plan.working_directory = fs::current_path().string();
  plan.jobs = request.jobs;
  for (const std::string& path : request.plugin_paths) {
    plan.plugin_paths.push_back(fs::absolute(path).lexically_normal().string());
  }
  const auto search_path = request.environment.find(plugin_variable);
  if (search_path != request.environment.end()) plan.plugin_search_path = search_path->second;
  return plan;
}

}  // namespace

CheckedSweep check_sweep(const SweepRequest& request) {
  CheckedSweep sweep;
  std::set<decltype(identity_of({}))> reported;  // an error in the file occurs in every run
  const fs::file_status status = fs::status(request.file);
  if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status)) {
    refuse(
        "'{}' is a pipe or a device; a sweep reads the file once per run and needs a regular file",
        request.file.string());
  }
  const LoadedSweep table = load_sweep(request.file, request.set, request.environment);
  if (has_errors(table.problems)) {
    sweep.problems = table.problems;
    return sweep;
  }
  const std::unique_ptr<DescriptionCache> descriptions = user_descriptions();
  const auto prepare = [&](const PlannedRun& run) {
    LoadOptions options;
    options.file = request.file;
    options.variants = request.variants;
    options.overrides = request.set;
    apply_settings(run, options);
    options.plugin_paths = request.plugin_paths;
    options.environment = request.environment;
    options.descriptions = descriptions.get();
    return prepare_run(std::move(options), request.threads);
  };
  sweep.plan = plan_of(request, table.spec, table.variants, prepare);
  const std::vector<PlannedRun> all = std::exchange(sweep.plan.runs, {});
  const bool sharded = request.shard.of > 1;
  bool sound = true;
  std::map<std::pair<std::string, std::string>, std::string> written;
  std::string fingerprints;
  for (std::size_t at = 0; at < all.size(); ++at) {
    if (ChildProcesses::stop_pending()) throw Error("stopped; nothing was run", Fault::cancelled);
    const PlannedRun& run = all[at];
    PreparedRun prepared = prepare(run);
    if (sharded && prepared.loaded.pipeline) {
      fingerprints += fingerprint_of(*prepared.loaded.pipeline);
    }
    if (!request.shard.has(at, 1)) continue;  // another shard reports its errors
    sweep.plan.runs.push_back(run);
    for (Problem& problem : prepared.loaded.problems) {
      if (reported.insert(identity_of(problem)).second) {
        sweep.problems.push_back(std::move(problem));
      }
    }
    sound = sound && prepared.loaded.pipeline.has_value();
    if (!sound) continue;
    const CheckedPipeline& pipeline = *prepared.loaded.pipeline;
    refuse_shared_files(run, pipeline, request.shard, written);
    sweep.plan.name = pipeline.spec.name;
    sweep.plan.threads = prepared.threads;
    sweep.pipelines.push_back(pipeline.spec.resolved);
    for (const std::string& sentence : pipeline.missing_data)
      add_unless_present(sweep.missing_data, sentence);
  }
  if (sharded) sweep.plan.fingerprint = sha256(fingerprints);
  if (!sound) sweep.pipelines.clear();
  refuse_twins(sweep.plan.runs, sweep.pipelines);
  if (sound && !sweep.plan.runs.empty()) {  // reports it if it cannot be
    shared_out(sweep.plan.threads,
               std::min(request.jobs, static_cast<int>(sweep.plan.runs.size())));
  }
  return sweep;
}

}  // namespace seam::host
