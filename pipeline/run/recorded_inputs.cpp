#include "pipeline/run/recorded_inputs.hpp"

#include <fmt/format.h>

#include <utility>

#include "pipeline/config/initial_weights.hpp"
#include "pipeline/run/data_files.hpp"
#include "pipeline/run/files.hpp"
#include "pipeline/run/from_run.hpp"
#include "pipeline/run/services.hpp"
#include "pipeline/text/lists.hpp"
#include "pipeline/text/nearest.hpp"
#include "sdk/src/weights_metadata.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace {

/// Parameters of the stage that the run in the folder set differently and that may change what its
/// network computes.
std::vector<Difference> differences_of_network(const CheckedPipeline& pipeline,
                                               const StageSpec& stage,
                                               const Description& description,
                                               const std::filesystem::path& run) {
  std::vector<Difference> differences =
      in_results(differences_between(pipeline_below_head(read_text_file(run / "resolved.toml")),
                                     pipeline.spec.resolved),
                 pipeline.spec.roles);
  const std::string prefix = "stage." + stage.name + ".";
  std::erase_if(differences, [&](const Difference& one) {
    if (!one.key.starts_with(prefix)) return true;
    const std::string name = one.key.substr(prefix.size());
    // A parameter that only one of them has may be of a newer version.
    if (!one.before || !one.now) return true;
    const ParameterInfo* const known = find_in(description.parameters, name, &ParameterInfo::name);
    if (known == nullptr) return name != "use";  // "on_error" and its like
    return known->initial || name == "freeze" || name == "rates" || name == "rate_scale";
  });
  return differences;
}

}  // namespace

std::string plugin_lines(const std::vector<PluginUsed>& plugins) {
  std::string lines;
  for (const PluginUsed& plugin : plugins) lines += plugin.sha256 + " " + plugin.path + "\n";
  return lines;
}

void warn_of_other_folder(const Launch& recorded, const Launch& now, RunServices& services) {
  if (recorded.working_directory == now.working_directory) return;
  services.warn(
      fmt::format("this run was started in '{}'; its relative paths are now looked up in '{}'",
                  recorded.working_directory, now.working_directory));
}

void warn_of_changes_since(const Launch& training, const Launch& now, const RunIdentity& identity,
                           RunServices& services) {
  warn_of_other_folder(training, now, services);
  std::vector<std::string> changed = changed_data(training.data, now.data);
  std::erase_if(changed, [&](const auto& key) { return now.evaluated_with.contains(key); });
  if (plugin_lines(training.plugins) != identity.plugins) changed.emplace_back("plugins");
  if (changed.empty()) return;
  services.warn(
      fmt::format("the content of {} has changed since the training; the scores may differ from "
                  "those of the trained network",
                  enumerated(changed)));
}

std::vector<std::string> check_imported_files(const CheckedPipeline& pipeline, const Launch& now) {
  std::vector<std::string> warnings;
  for (const StageSpec& stage : pipeline.spec.stages) {
    const auto runner = pipeline.stages.find(stage.name);
    if (runner == pipeline.stages.end()) continue;
    const std::filesystem::path run = initial_weights(stage, runner->second->description());
    if (run.empty() || !std::filesystem::exists(run / "resolved.toml")) continue;
    if (!ended_run(run / "summary.json").complete) {
      warnings.push_back(
          fmt::format("run '{}' is not complete: stage '{}' imports the weights of its {}",
                      run.string(), stage.name, weights_file(run).path.filename().string()));
    }
    const std::vector<Difference> differences =
        differences_of_network(pipeline, stage, runner->second->description(), run);
    if (!differences.empty()) {
      warnings.push_back(
          fmt::format("stage '{}' imports weights from run '{}', but has {}; the network may "
                      "differ from the one that was trained",
                      stage.name, run.string(), to_text(differences)));
    }
    std::vector<std::string> changed = changed_data(read_launch(run).data, now.data);
    std::erase_if(changed, [&](const std::string& key) {
      return !key.starts_with("stage." + stage.name + ".");
    });
    if (changed.empty()) continue;
    warnings.push_back(
        fmt::format("the content of {} is not that of '{}', from which stage '{}' imports its "
                    "weights; they may belong to a different network",
                    enumerated(changed), run.string(), stage.name));
  }
  return warnings;
}

Listings listings_of_evaluated(const Launch& now) {
  const WeightsFile weights = weights_file(std::filesystem::path(now.evaluates.run) /
                                           "checkpoints" / now.evaluates.checkpoint);
  const auto text = weights.metadata.find(listings_key);
  return text == weights.metadata.end() ? Listings() : listings_from(text->second);
}

void warn_of_differences(const Checkpoint& checkpoint, const RunIdentity& identity,
                         RunServices& services) {
  if (!checkpoint.numerics.empty() && checkpoint.numerics != identity.numerics) {
    services.warn(fmt::format(
        "the checkpoint was computed on {}, and the run continues on {}; the results will "
        "differ from those of an uninterrupted run",
        checkpoint.numerics, identity.numerics));
  }
  if (checkpoint.plugins != identity.plugins) {
    services.warn(
        "the plugins have changed since the checkpoint was written; the results "
        "may differ from those of an uninterrupted run");
  }
}

void RecordedData::only_warn(std::string consequence, const std::set<std::string>& keys,
                             const Roles& roles, RunServices& services) {
  consequence_ = std::move(consequence);
  keys_ = keys;
  warns_ = &services;
  const std::string prefix = "stage.";
  for (const std::string& key : keys) {
    if (!key.starts_with(prefix) || !roles.is_path(key)) continue;
    stages_.insert(key.substr(prefix.size(), key.rfind('.') - prefix.size()));
  }
}

void RecordedData::check_files(const std::map<std::string, std::string>& now,
                               const std::filesystem::path& run) const {
  std::vector<std::string> changed = changed_data(files_, now);
  std::erase_if(changed, [this](const auto& key) { return keys_.contains(key); });
  if (!changed.empty()) refuse("the content of " + enumerated(changed), run);
}

void RecordedData::check_listings(const Listings& now, const std::filesystem::path& run) const {
  for (const std::string& stage : changed_data(listings_, now)) {
    if (!stages_.contains(stage)) refuse("the list of stage '" + stage + "'", run);
  }
}

void RecordedData::refuse(const std::string& what, const std::filesystem::path& run) const {
  const std::string text = what + " has changed since the run was started";
  if (warns_ != nullptr) {
    warns_->warn(text + consequence_);
    return;
  }
  throw Error(text +
                  "; the data of a run must not change: restore the files, or start another run "
                  "with seam run --from " +
                  run.string(),
              Fault::configuration);
}

}  // namespace seam::host
