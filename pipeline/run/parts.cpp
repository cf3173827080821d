#include "pipeline/run/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "pipeline/graph/plan.hpp"
#include "pipeline/graph/sharding.hpp"
#include "pipeline/run/checksum.hpp"
#include "pipeline/run/data_files.hpp"
#include "pipeline/run/files.hpp"
#include "pipeline/run/from_run.hpp"
#include "pipeline/run/numerics.hpp"
#include "pipeline/run/schedule.hpp"
#include "pipeline/run/summary.hpp"
#include "pipeline/text/json.hpp"
#include "pipeline/text/lists.hpp"
#include "pipeline/text/parse.hpp"
#include "pipeline/text/refuse.hpp"
#include "seam/shard.hpp"

namespace seam::host {
namespace fs = std::filesystem;
namespace {

using Environment = std::map<std::string, std::string>;

std::uint64_t environment_number(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  if (found == environment.end()) {
    refuse(
        "--shard auto needs the environment variable {}, which is not set; write the shard as "
        "--shard NUMBER/COUNT",
        name);
  }
  const auto number = number_in<std::uint64_t>(found->second);
  if (!number) {
    refuse("the environment variable {} is '{}', but must be a number", name, found->second);
  }
  return *number;
}

/// Of a Slurm array such as --array=0-99.
Shard slurm_shard(const Environment& environment) {
  const std::uint64_t first = environment_number(environment, "SLURM_ARRAY_TASK_MIN");
  const std::uint64_t last = environment_number(environment, "SLURM_ARRAY_TASK_MAX");
  const std::uint64_t count = environment_number(environment, "SLURM_ARRAY_TASK_COUNT");
  const std::uint64_t task = environment_number(environment, "SLURM_ARRAY_TASK_ID");
  if (last - first + 1 != count || task < first || task > last) {
    refuse(
        "--shard auto needs a Slurm array without gaps, such as --array=0-99, but this one has {} "
        "tasks from {} to {}; write the shard as --shard NUMBER/COUNT",
        count, first, last);
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
  return {environment_number(environment, "JOB_COMPLETION_INDEX"),
          environment_number(environment, "JOB_COMPLETIONS")};
}

/// A text without two numbers gives a shard that does not exist.
Shard parsed_shard(std::string_view text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const std::string_view after = text.substr(std::min(slash + 1, text.size()));
  return {number_in<std::uint64_t>(text.substr(0, slash)).value_or(~std::uint64_t{0}),
          number_in<std::uint64_t>(after).value_or(0)};
}

bool exists(const Shard& shard) {
  return shard.number < shard.of;
}

/// The stages of scheduled flows that offer an interface.
template <class Interface>
std::vector<Interface*> all_offering(const CheckedPipeline& pipeline) {
  std::vector<Interface*> all;
  std::set<std::string> seen;
  for (const std::string& flow : scheduled_flows(pipeline.spec.schedule)) {
    for (const StageRunner* stage : runners_of(flow_named(pipeline.spec, flow), pipeline.stages)) {
      void* const offered = stage->interface(type_name<Interface>());
      if (offered == nullptr || !seen.insert(stage->name()).second) continue;
      all.push_back(static_cast<Interface*>(offered));
    }
  }
  return all;
}

std::vector<std::string> hashes_of(const std::vector<PluginUsed>& plugins) {
  std::vector<std::string> hashes = mapped(plugins, &PluginUsed::sha256);
  std::ranges::sort(hashes);
  return hashes;
}

[[noreturn]] void refuse_part(const fs::path& part, const std::string& difference) {
  refuse(
      "'{}' was made differently: {}; the shards of one folder belong together: choose another "
      "--run-dir, or remove '{}'",
      part.string(), difference, part.parent_path().string());
}

}  // namespace

std::string to_text(const Shard& shard) {
  return fmt::format("{}/{}", shard.number, shard.of);
}

Shard shard_from(std::string_view text, const Environment& environment) {
  const bool automatic = text == "auto";
  const Shard shard = automatic ? shard_of(environment) : parsed_shard(text);
  if (exists(shard)) return shard;
  const std::string given =
      automatic ? "the environment's " + to_text(shard) : fmt::format("'{}'", text);
  refuse("--shard takes NUMBER/COUNT with numbers from 0, such as 0/8 to 7/8, or auto, not {}",
         given);
}

std::optional<Shard> recorded_shard(const fs::path& run) {
  const std::string text = read_launch(run).shard;
  if (text.empty()) return std::nullopt;
  const Shard shard = parsed_shard(text);
  if (!exists(shard)) {
    refuse(
        "'{}' is damaged: in the first lines, 'shard' is '{}', but must be NUMBER/COUNT; restore "
        "the file, or remove the folder",
        (run / "resolved.toml").string(), text);
  }
  return shard;
}

fs::path part_folder(const fs::path& out, const Shard& shard) {
  return out / fmt::format("part-{:05}-of-{:05}", shard.number, shard.of);
}

void refuse_unless_splittable(const CheckedPipeline& pipeline) {
  std::map<std::string, StageSpec> specs;
  for (const StageSpec& stage : pipeline.spec.stages) specs.emplace(stage.name, stage);
  for (const std::string& name : scheduled_flows(pipeline.spec.schedule)) {
    const FlowSpec& flow = flow_named(pipeline.spec, name);
    const std::vector<StageRunner*> runners = runners_of(flow, pipeline.stages);
    Sharding sharding = sharding_of(flow, plan_of(flow, runners, specs), runners);
    for (const StageRunner* stage : runners) {
      if (stage->kind() == StageKind::collector &&
          specs.at(stage->name()).on_error == OnError::skip) {
        sharding.obstacle = fmt::format(
            "'{}' ({}) has on_error = \"skip\", and which packets it skips may depend on "
            "packets in other shards",
            stage->name(), stage->type());
      }
    }
    if (!sharding.obstacle.empty()) throw cannot_split(flow, sharding);
  }
  for (const WrittenElsewhere& outside : written_elsewhere(pipeline)) {
    refuse(
        "stage '{}' may write to '{}', which all shards would share; use a path relative to the "
        "run folder: --set {}=FOLDER",
        outside.stage, outside.path, outside.key);
  }
}

PartInputs inputs_of(const Launch& launch, std::string pipeline) {
  std::set<std::string> libraries;
  for (const PluginUsed& plugin : launch.plugins) {
    if (!plugin.libtorch.empty()) libraries.insert(", LibTorch " + plugin.libtorch);
    if (!plugin.opencv.empty()) libraries.insert(", OpenCV " + plugin.opencv);
  }
  std::string program = "Seam " + launch.version;
  for (const std::string& library : libraries) program += library;
  return {std::move(pipeline), launch.roles, launch.data, hashes_of(launch.plugins),
          program + ", " + launch.numerics};
}

PartInputs inputs_of(const CheckedPipeline& pipeline) {
  Launch launch = make_launch(pipeline.spec, pipeline.plugins);
  launch.data = data_files(pipeline);
  launch.data.merge(initial_files(pipeline));
  launch.roles = pipeline.spec.roles;
  launch.numerics = to_text(numerics_for(pipeline));
  return inputs_of(launch, pipeline.spec.resolved);
}

PartInputs read_inputs(const fs::path& part) {
  return inputs_of(read_launch(part), pipeline_below_head(read_text_file(part / "resolved.toml")));
}

std::string difference_between(const PartInputs& before, const PartInputs& now) {
  const auto keys =
      in_results(set_by_users(differences_between(before.pipeline, now.pipeline)), now.roles);
  if (!keys.empty()) return to_text(keys);
  std::vector<std::pair<std::string, std::string>> files;  // a missing one is a difference
  std::ranges::set_symmetric_difference(before.files, now.files, std::back_inserter(files));
  if (!files.empty()) return "the content of " + files.front().first;
  if (before.program != now.program) {
    return fmt::format("computed by {} (was {})", now.program, before.program);
  }
  return before.plugins == now.plugins ? std::string() : "the plugins";
}

std::string digest_of(const PartInputs& inputs) {
  std::string text = inputs.program;
  const auto keys =
      in_results(set_by_users(differences_between("", inputs.pipeline)), inputs.roles);
  for (const Difference& one : keys) text += "\n" + one.key + " = " + one.now.value_or("");
  for (const auto& [key, hash] : inputs.files) text += "\n" + key + " " + hash;
  for (const std::string& hash : inputs.plugins) text += "\n" + hash;
  return sha256(text);
}

void refuse_other_parts(const fs::path& out, const Shard& shard, const PartInputs& inputs) {
  if (!fs::is_directory(out)) return;
  if (fs::exists(out / "resolved.toml")) {
    refuse(
        "'{}' contains a run; with --shard, --run-dir is the folder of all shards: choose a new or "
        "empty one",
        out.string());
  }
  const fs::path own = part_folder(out, shard);
  bool compared = false;  // with one other part; `seam shards` compares all of them
  for (const fs::directory_entry& entry : fs::directory_iterator(out)) {
    const bool is_own = entry.path().filename() == own.filename();
    if ((compared && !is_own) || !fs::exists(entry.path() / "resolved.toml")) continue;
    compared = compared || !is_own;
    const std::optional<Shard> other = recorded_shard(entry.path());
    std::string difference;
    if (!other) {
      difference = "it is not a shard";
    } else if (other->of != shard.of) {
      difference = fmt::format("{} shards (were {})", shard.of, other->of);
    } else {
      difference = difference_between(read_inputs(entry.path()), inputs);
    }
    if (!difference.empty()) refuse_part(entry.path(), difference);
  }
}

void refuse_other_lists(const fs::path& run, const Listings& now) {
  for (const fs::directory_entry& entry : fs::directory_iterator(run.parent_path())) {
    const fs::path file = entry.path() / "summary.json";
    if (entry.path().filename() == run.filename() || !fs::exists(file)) continue;
    const Listings before = read_listings(file);
    if (before.empty()) continue;  // it ended before it had read any
    const std::vector<std::string> changed = changed_data(before, now);
    if (!changed.empty()) refuse_part(entry.path(), "the list of stage '" + changed.front() + "'");
    return;  // compared with one other part; `seam shards` compares all of them
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
    const Json summary = parse_json(read_text_file(part / "summary.json"));
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
