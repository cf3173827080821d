#include "pipeline/run/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "pipeline/graph/plan.hpp"
#include "pipeline/graph/sharding.hpp"
#include "pipeline/run/checksum.hpp"
#include "pipeline/run/data_files.hpp"
#include "pipeline/run/files.hpp"
#include "pipeline/run/from_run.hpp"
#include "pipeline/run/schedule.hpp"
#include "pipeline/text/json.hpp"
#include "pipeline/text/nearest.hpp"
#include "pipeline/text/parse.hpp"
#include "seam/shard.hpp"

namespace seam::host {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(message, Fault::configuration);
}

using Environment = std::map<std::string, std::string>;

std::uint64_t number_of(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  if (found == environment.end()) {
    refuse(
        fmt::format("--shard auto needs the environment variable {}, which is not set; write "
                    "the shard as --shard NUMBER/COUNT",
                    name));
  }
  const auto number = number_in<std::uint64_t>(found->second);
  if (!number) {
    refuse(fmt::format("the environment variable {} is '{}', but must be a number", name,
                       found->second));
  }
  return *number;
}

/// Of a Slurm array such as --array=0-99.
Shard slurm_shard(const Environment& environment) {
  const std::uint64_t first = number_of(environment, "SLURM_ARRAY_TASK_MIN");
  const std::uint64_t last = number_of(environment, "SLURM_ARRAY_TASK_MAX");
  const std::uint64_t count = number_of(environment, "SLURM_ARRAY_TASK_COUNT");
  const std::uint64_t task = number_of(environment, "SLURM_ARRAY_TASK_ID");
  if (last - first + 1 != count || task < first || task > last) {
    refuse(
        fmt::format("--shard auto needs a Slurm array without gaps, such as --array=0-99, but "
                    "this one has {} tasks from {} to {}; write the shard as --shard "
                    "NUMBER/COUNT",
                    count, first, last));
  }
  return {task - first, count};
}

Shard shard_of(const Environment& environment) {
  const bool slurm = environment.contains("SLURM_ARRAY_TASK_ID");
  const bool kubernetes = environment.contains("JOB_COMPLETION_INDEX");
  if (slurm && kubernetes) {
    refuse(
        "--shard auto is ambiguous, because both SLURM_ARRAY_TASK_ID and JOB_COMPLETION_INDEX are "
        "set; write the shard as --shard NUMBER/COUNT");
  }
  if (slurm) return slurm_shard(environment);
  if (!kubernetes) {
    refuse(
        "--shard auto needs the environment of a Slurm array (SLURM_ARRAY_TASK_ID) or of an "
        "indexed Kubernetes Job (JOB_COMPLETION_INDEX); write the shard as --shard NUMBER/COUNT");
  }
  const Shard shard{number_of(environment, "JOB_COMPLETION_INDEX"),
                    number_of(environment, "JOB_COMPLETIONS")};
  if (shard.number >= shard.of) {
    refuse(fmt::format("JOB_COMPLETION_INDEX is {}, but must be below JOB_COMPLETIONS, which is {}",
                       shard.number, shard.of));
  }
  return shard;
}

std::vector<StageRunner*> runners_of(const CheckedPipeline& pipeline, const FlowSpec& flow) {
  std::vector<StageRunner*> runners;
  for (const FlowNode& node : flow.nodes) runners.push_back(pipeline.stages.at(node.stage).get());
  return runners;
}

/// The stages of scheduled flows that offer an interface.
template <class Interface>
std::vector<Interface*> all_offering(const CheckedPipeline& pipeline) {
  std::vector<Interface*> all;
  std::set<std::string> seen;
  for (const std::string& flow : scheduled_flows(pipeline.spec.schedule)) {
    for (const StageRunner* stage : runners_of(pipeline, flow_named(pipeline.spec, flow))) {
      void* const offered = stage->interface(type_name<Interface>());
      if (offered == nullptr || !seen.insert(stage->name()).second) continue;
      all.push_back(static_cast<Interface*>(offered));
    }
  }
  return all;
}

std::vector<std::string> hashes_of(const std::vector<PluginUsed>& plugins) {
  std::vector<std::string> hashes;
  for (const PluginUsed& plugin : plugins) hashes.push_back(plugin.sha256);
  std::ranges::sort(hashes);
  return hashes;
}

}  // namespace

std::string to_text(const Shard& shard) {
  return fmt::format("{}/{}", shard.number, shard.of);
}

Shard shard_from(std::string_view text, const Environment& environment) {
  if (text == "auto") return shard_of(environment);
  const std::size_t slash = std::min(text.find('/'), text.size());
  const std::string_view after = text.substr(std::min(slash + 1, text.size()));
  // A text without one of the numbers is rejected like 3/3.
  const auto number = number_in<std::uint64_t>(text.substr(0, slash)).value_or(~std::uint64_t{0});
  const auto of = number_in<std::uint64_t>(after).value_or(0);
  if (number >= of) {
    refuse(
        fmt::format("--shard takes NUMBER/COUNT with numbers from 0, such as 0/8 to 7/8, or "
                    "auto, not '{}'",
                    text));
  }
  return {number, of};
}

fs::path part_folder(const fs::path& out, const Shard& shard) {
  return out / fmt::format("part-{:05}-of-{:05}", shard.number, shard.of);
}

void refuse_unless_splittable(const CheckedPipeline& pipeline) {
  std::map<std::string, StageSpec> specs;
  for (const StageSpec& stage : pipeline.spec.stages) specs.emplace(stage.name, stage);
  for (const std::string& name : scheduled_flows(pipeline.spec.schedule)) {
    const FlowSpec& flow = flow_named(pipeline.spec, name);
    const std::vector<StageRunner*> runners = runners_of(pipeline, flow);
    const Sharding sharding = sharding_of(flow, plan_of(flow, runners, specs), runners);
    if (!sharding.obstacle.empty()) throw cannot_split(flow, sharding);
  }
  if (const auto outside = written_elsewhere(pipeline)) {
    refuse(
        fmt::format("stage '{}' may write to '{}', which all shards would share; use a path "
                    "relative to the run folder: --set {}=FOLDER",
                    outside->stage, outside->path, outside->key));
  }
}

PartInputs inputs_of(const CheckedPipeline& pipeline) {
  std::map<std::string, std::string> files = data_files(pipeline);
  files.merge(initial_files(pipeline));
  return {pipeline.spec.resolved, pipeline.spec.roles, std::move(files),
          hashes_of(make_launch(pipeline.spec, pipeline.plugins).plugins)};
}

PartInputs read_inputs(const fs::path& part) {
  const Launch launch = read_launch(part);
  return {pipeline_below_head(read_text_file(part / "resolved.toml")), launch.roles, launch.data,
          hashes_of(launch.plugins)};
}

std::string difference_between(const PartInputs& before, const PartInputs& now) {
  const auto keys =
      in_results(set_by_users(differences_between(before.pipeline, now.pipeline)), now.roles);
  if (!keys.empty()) return to_text(keys);
  if (const auto changed = changed_data(before.files, now.files); !changed.empty()) {
    return "the content of " + enumerated(changed);
  }
  return before.plugins == now.plugins ? std::string() : "the plugins";
}

void refuse_other_parts(const fs::path& out, const Shard& shard, const PartInputs& inputs) {
  if (!fs::is_directory(out)) return;
  if (fs::exists(out / "resolved.toml")) {
    refuse(
        fmt::format("'{}' contains a run; with --shard, --run-dir is the folder of all shards: "
                    "choose a new or empty one",
                    out.string()));
  }
  const fs::path own = part_folder(out, shard);
  bool compared = false;  // with another part; those in the folder are equal to each other
  for (const fs::directory_entry& entry : fs::directory_iterator(out)) {
    const bool is_own = entry.path().filename() == own.filename();
    if ((compared && !is_own) || !fs::exists(entry.path() / "resolved.toml")) continue;
    compared = compared || !is_own;
    const std::string recorded = read_launch(entry.path()).shard;
    const auto other = recorded.empty() ? Shard() : shard_from(recorded, {});
    std::string difference;
    if (recorded.empty()) {
      difference = "it is not a shard";
    } else if (other.of != shard.of) {
      difference = fmt::format("{} shards (were {})", shard.of, other.of);
    } else {
      difference = difference_between(read_inputs(entry.path()), inputs);
    }
    if (difference.empty()) continue;
    refuse(
        fmt::format("'{}' was made differently: {}; the shards of one folder belong together: "
                    "choose another --run-dir, or remove '{}'",
                    entry.path().string(), difference, out.string()));
  }
}

std::map<std::string, std::string> written_files(const CheckedPipeline& pipeline,
                                                 const fs::path& run_directory) {
  std::map<std::string, std::string> files;
  for (const WritesParts* writer : all_offering<WritesParts>(pipeline)) {
    for (const fs::path& file : writer->part_files()) {
      const std::string hash = sha256_of_file(file);
      if (hash.empty()) throw Error("'" + file.string() + "' cannot be read");
      files[file.lexically_relative(run_directory).generic_string()] = hash;
    }
  }
  return files;
}

void begin_parts(const CheckedPipeline& pipeline) {
  for (auto* batches : all_offering<ConsecutiveBatches>(pipeline)) batches->begin_part();
  for (auto* writer : all_offering<WritesParts>(pipeline)) writer->begin_part();
}

std::string damage_of(const fs::path& part) {
  try {
    const Json summary = Json::parse(read_text_file(part / "summary.json"));
    for (const auto& [name, hash] : summary.at("files").items()) {
      const std::string found = sha256_of_file(part / name);
      if (found.empty()) return "'" + name + "' is missing";
      if (found != hash.get<std::string>())
        return "'" + name + "' has changed since it was written";
    }
  } catch (const Json::exception& error) {
    return std::string("summary.json is damaged: ") + error.what();
  }
  return {};
}

}  // namespace seam::host
