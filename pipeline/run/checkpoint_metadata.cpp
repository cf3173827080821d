#include "pipeline/run/checkpoint_metadata.hpp"

#include <type_traits>
#include <utility>

#include "pipeline/text/json.hpp"
#include "pipeline/text/parse.hpp"
#include "sdk/src/checkpoint_format.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace format = checkpoint_format;
namespace {

const std::string run_keys = "seam.run.";
const std::string mean_keys = "seam.mean.";

/// Reads the run's values from metadata. Throws seam::Error that names an invalid value.
class RunValues {
 public:
  explicit RunValues(const Metadata& metadata) : metadata_(metadata) {}

  [[nodiscard]] std::optional<std::string> find(const std::string& key) const {
    const auto found = metadata_.find(key);
    if (found == metadata_.end()) return std::nullopt;
    return found->second;
  }
  [[nodiscard]] std::string text(const std::string& key) const {
    const auto value = find(key);
    if (!value) throw Error("its metadata lacks '" + key + "'");
    return *value;
  }
  [[nodiscard]] std::int64_t count(const char* name) const {
    const std::string value = text(run_keys + name);
    const auto number = number_in<std::int64_t>(value);
    if (!number) throw Error("its '" + (run_keys + name) + "' is '" + value + "', not a number");
    if (*number < 0) throw Error("its '" + (run_keys + name) + "' is negative");
    return *number;
  }
  [[nodiscard]] static double number(const std::string& key, const std::string& value) {
    const auto number = number_in<double>(value);
    if (!number) throw Error("its '" + key + "' is '" + value + "', not a number");
    return *number;
  }

 private:
  const Metadata& metadata_;  // the caller's, outlives this
};

/// Calls `visit` with the name and the value of each number that every checkpoint has.
template <class AnyCheckpoint, class Visit>
void for_each_count(AnyCheckpoint& checkpoint, const Visit& visit) {
  auto& position = checkpoint.position;
  visit("before_done", position.before_done);
  visit("epochs_done", position.epochs_done);
  visit("stopped_early", position.stopped_early);
  visit("best_epochs", position.best_epochs);
  visit("without_gain", position.without_gain);
  visit("epochs_measured", position.epochs_measured);
  visit("flows_done", position.flows_done);
  visit("after_done", position.after_done);
  visit("metrics_size", checkpoint.metrics_size);
  visit("timing_size", checkpoint.timing_size);
  visit("skipped_size", checkpoint.skipped_size);
  visit("skipped_packets", checkpoint.skipped_packets);
  visit("trainings", checkpoint.trainings);
  visit("training_steps", checkpoint.training_steps);
}

}  // namespace

std::string escaped(std::string_view bytes) {
  constexpr unsigned last_ascii = 0x7F;
  std::string text;
  for (const char byte : bytes) {
    const auto number = static_cast<unsigned char>(byte);
    if (byte != '%' && number <= last_ascii) {
      text += byte;
      continue;
    }
    text += '%';
    text += "0123456789ABCDEF"[number >> 4U];
    text += "0123456789ABCDEF"[number & 0xFU];
  }
  return text;
}

std::string unescaped(std::string_view text) {
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      bytes += text[at];
      continue;
    }
    const auto number = number_in<unsigned char>(text.substr(at + 1, 2), 16);
    if (!number || at + 2 >= text.size()) {
      throw Error("'" + std::string(text) + "' has a '%' without two digits");
    }
    bytes += static_cast<char>(*number);
    at += 2;
  }
  return bytes;
}

Metadata metadata_of(const Checkpoint& checkpoint) {
  const SchedulePosition& position = checkpoint.position;
  const Json stages = list_json(checkpoint.stages, [](const StageState& stage) {
    return Json::array({stage.name, stage.use});
  });
  Metadata metadata{{"format", "pt"},  // other readers of safetensors files look for it
                    {format::version_key, std::string(checkpoint_version)},
                    {format::stages_key, json_line(stages)}};
  if (!checkpoint.classes.empty()) {
    metadata.emplace(format::classes_key, text_of(checkpoint.classes));
  }
  if (!checkpoint.listings.empty()) metadata.emplace(listings_key, text_of(checkpoint.listings));
  if (checkpoint.chosen) metadata.emplace(format::chosen_key, text_of(*checkpoint.chosen));
  const auto run = [&](const char* key, std::string value) {
    metadata.emplace(run_keys + key, std::move(value));
  };
  for_each_count(checkpoint, [&run](const char* name, auto value) {
    run(name, std::to_string(static_cast<std::int64_t>(value)));
  });
  if (position.best) run("best", shortest_text(*position.best));
  if (const auto best = best_epochs(position)) {
    metadata.emplace(format::best_key, to_text(CheckpointName{*best}));
    if (checkpoint.best_by) metadata.emplace(format::best_by_key, text_of(*checkpoint.best_by));
  }
  if (const auto& kept = position.best_kept) {
    run("kept_metric", escaped(kept->metric));
    run("kept_best", shortest_text(kept->value));
    run("kept_epochs", std::to_string(kept->epochs));
  }
  if (checkpoint.pipeline) run("pipeline", escaped(*checkpoint.pipeline));
  run("plugins", escaped(checkpoint.plugins));
  run("numerics", escaped(checkpoint.numerics));
  run("epoch_means", json_line(list_json(checkpoint.epoch_means, escaped)));
  for (const auto& [metric, mean] : checkpoint.means) {
    metadata.emplace(mean_keys + escaped(metric), shortest_text(mean));
  }
  return metadata;
}

std::optional<std::string> pipeline_in(const Metadata& metadata) {
  const auto pipeline = metadata.find(run_keys + "pipeline");
  if (pipeline == metadata.end()) return std::nullopt;
  return unescaped(pipeline->second);
}

void take_metadata(const Metadata& metadata, Checkpoint& checkpoint) {
  const RunValues run(metadata);
  SchedulePosition& position = checkpoint.position;
  for_each_count(checkpoint, [&run](const char* name, auto& value) {
    value = static_cast<std::remove_reference_t<decltype(value)>>(run.count(name));
  });
  if (const auto best = run.find(run_keys + "best")) {
    position.best = RunValues::number(run_keys + "best", *best);
  }
  if (const auto metric = run.find(run_keys + "kept_metric")) {
    const std::string value = run.text(run_keys + "kept_best");
    position.best_kept = {unescaped(*metric), RunValues::number(run_keys + "kept_best", value),
                          run.count("kept_epochs")};
  }
  checkpoint.pipeline = pipeline_in(metadata);
  checkpoint.plugins = unescaped(run.text(run_keys + "plugins"));
  checkpoint.numerics = unescaped(run.text(run_keys + "numerics"));
  for (auto at = metadata.lower_bound(mean_keys);
       at != metadata.end() && at->first.starts_with(mean_keys); ++at) {
    checkpoint.means[unescaped(std::string_view(at->first).substr(mean_keys.size()))] =
        RunValues::number(at->first, at->second);
  }
  const Json names = try_parse_json(run.text(run_keys + "epoch_means"));
  if (!names.is_array()) throw Error("its '" + run_keys + "epoch_means' is not a list");
  for (const Json& name : names) {
    if (!name.is_string()) throw Error("its '" + run_keys + "epoch_means' is not a list of names");
    checkpoint.epoch_means.push_back(unescaped(name.get<std::string>()));
  }
  if (const auto classes = run.find(format::classes_key)) {
    checkpoint.classes = class_names_from(*classes);
  }
  if (const auto listings = run.find(listings_key)) checkpoint.listings = listings_from(*listings);
  if (const auto rule = run.find(format::best_by_key)) checkpoint.best_by = choice_from(*rule);
  if (const auto chosen = run.find(format::chosen_key)) {
    checkpoint.chosen = chosen_weights_from(*chosen);
  }
  const Json stages = try_parse_json(run.text(format::stages_key));
  if (!stages.is_array())
    throw Error(std::string("its '") + format::stages_key + "' is not a list");
  for (const Json& stage : stages) {
    if (!stage.is_array() || stage.size() != 2 || !stage[0].is_string() || !stage[1].is_string()) {
      throw Error(std::string("its '") + format::stages_key + "' has " + json_line(stage) +
                  " instead of a stage's name and type");
    }
    checkpoint.stages.push_back({stage[0], stage[1], {}});
  }
}

}  // namespace seam::host
