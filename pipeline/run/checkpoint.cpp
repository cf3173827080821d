#include "pipeline/run/checkpoint.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <system_error>
#include <utility>

#include "pipeline/run/checkpoint_metadata.hpp"
#include "pipeline/run/files.hpp"
#include "pipeline/run/metrics_file.hpp"
#include "pipeline/text/json.hpp"
#include "pipeline/text/refuse.hpp"
#include "sdk/src/checkpoint_format.hpp"
#include "seam/error.hpp"
#include "seam/safetensors.hpp"

namespace seam::host {
namespace fs = std::filesystem;
namespace format = checkpoint_format;
namespace {

const std::string flow_stage = "seam.flow";  // stage names have no dots
const std::string recorded_keys = "recorded/";

Archive::Entry numbers_entry(const std::vector<double>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {"f64", {std::ssize(values)}, {bytes.begin(), bytes.end()}};
}

std::vector<double> numbers_of(const Archive::Entry& entry) {
  std::vector<double> values(entry.bytes.size() / sizeof(double));
  if (!values.empty()) std::memcpy(values.data(), entry.bytes.data(), entry.bytes.size());
  return values;
}

std::string_view fault_text(Fault fault) {
  switch (fault) {
    case Fault::configuration:
      return "configuration";
    case Fault::data:
      return "data";
    case Fault::cancelled:
      return "cancelled";
    case Fault::internal:
      break;
  }
  return "internal";
}

Fault fault_of(const std::string& text) {
  for (const Fault fault : {Fault::configuration, Fault::data, Fault::cancelled}) {
    if (text == fault_text(fault)) return fault;
  }
  return Fault::internal;
}

Archive archive_of(const FlowUnderWay& flow) {
  Archive archive;
  archive.put("flow", flow.flow);
  archive.put("steps", static_cast<std::int64_t>(flow.point.steps));
  archive.put("inputs", static_cast<std::int64_t>(flow.point.inputs));
  archive.put("skipped", static_cast<std::int64_t>(flow.point.skipped));
  archive.put("failures", json_line(list_json(flow.point.failures, [](const Failure& failure) {
                return Json::array({escaped(failure.stage), escaped(failure.origin),
                                    escaped(failure.message), fault_text(failure.fault)});
              })));
  for (const auto& [stage, stream] : flow.recorded) {
    for (const auto& [name, values] : stream) {
      archive.put(recorded_keys + escaped(stage) + "/" + escaped(name), numbers_entry(values));
    }
  }
  return archive;
}

FlowUnderWay flow_from(const Archive& archive) {
  const auto count = [&archive](const char* name) {
    const std::int64_t value = archive.integer(name);
    if (value < 0) throw Error("its '" + flow_stage + "/" + name + "' is negative");
    return static_cast<std::uint64_t>(value);
  };
  FlowUnderWay flow;
  flow.flow = archive.text("flow");
  flow.point = {count("steps"), count("inputs"), count("skipped"), {}};
  const Json failures = try_parse_json(archive.text("failures"));
  if (!failures.is_array()) throw Error("its '" + flow_stage + "/failures' is not a list");
  for (const Json& failure : failures) {
    const bool texts = failure.is_array() && failure.size() == 4 &&
                       std::ranges::all_of(failure, [](const Json& j) { return j.is_string(); });
    if (!texts) throw Error("its '" + flow_stage + "/failures' has " + json_line(failure));
    flow.point.failures.push_back({unescaped(failure[0].get<std::string>()),
                                   unescaped(failure[1].get<std::string>()),
                                   unescaped(failure[2].get<std::string>()), fault_of(failure[3])});
  }
  for (const auto& [key, entry] : archive.entries()) {
    if (!key.starts_with(recorded_keys)) continue;
    const std::size_t slash = key.find('/', recorded_keys.size());
    if (slash == std::string::npos) throw Error("its '" + flow_stage + "/" + key + "' has no name");
    const std::string stage = key.substr(recorded_keys.size(), slash - recorded_keys.size());
    flow.recorded[unescaped(stage)][unescaped(key.substr(slash + 1))] =
        numbers_of(archive.get(key, "f64"));
  }
  return flow;
}

/// Moves to each stage the tensors whose names begin with the stage's name.
void take_tensors(std::map<std::string, Archive::Entry>& tensors, Checkpoint& checkpoint) {
  std::map<std::string_view, Archive*> archives;
  Archive flow;
  archives.emplace(flow_stage, &flow);
  for (StageState& stage : checkpoint.stages) {
    if (!archives.emplace(stage.name, &stage.archive).second) {
      throw Error("it has two stages '" + stage.name + "'");
    }
  }
  for (auto& [key, entry] : tensors) {
    const std::size_t slash = key.find('/');
    const auto archive = archives.find(std::string_view(key).substr(0, slash));
    if (slash == std::string::npos || archive == archives.end()) {
      throw Error("its tensor '" + key + "' does not belong to any of its stages");
    }
    archive->second->put(key.substr(slash + 1), std::move(entry));
  }
  if (!flow.empty()) checkpoint.flow = flow_from(flow);
}

/// The metric's values in the last of each epoch's flows that recorded it.
std::map<std::int64_t, std::vector<double>> values_by_epoch(const std::string& metric,
                                                            const std::filesystem::path& file,
                                                            std::uint64_t size) {
  std::map<std::int64_t, std::vector<double>> values;
  read_metrics(
      file,
      [&](MetricLine&& line) {
        if (!line.when.empty() || line.flow.empty() || line.metric() != metric) return;
        if (line.step == 0) values[line.epoch].clear();
        values[line.epoch].push_back(line.value);
      },
      size);
  return values;
}

/// A checkpoint that was changed after it was written.
class Damaged final : public Error {
 public:
  using Error::Error;
};

/// Reads a checkpoint. One that cannot be read may be intact, so the user has to decide about it.
std::vector<std::byte> bytes_of(const fs::path& checkpoint) {
  try {
    return read_file(checkpoint);
  } catch (const Error& error) {
    throw Error(std::string("the newest checkpoint may be intact but cannot be read: ") +
                error.what() +
                "; make it readable, or move it out of the folder to resume from the previous one");
  }
}

/// The files of a folder whose names have a key according to `key_of`, the greatest first.
template <class KeyOf>
std::vector<fs::path> files_in(const fs::path& folder, const KeyOf& key_of) {
  using Key = typename decltype(key_of(std::string_view()))::value_type;
  std::vector<std::pair<Key, fs::path>> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (const auto key = key_of(entry->path().filename().string())) {
      found.emplace_back(*key, entry->path());
    }
  }
  // Before the first checkpoint there is no folder. Any other error leaves unknown which files
  // exist.
  if (error && error != std::errc::no_such_file_or_directory) {
    throw path_fault("cannot list", folder, error);
  }
  std::ranges::sort(found, std::greater());
  std::vector<fs::path> files;
  files.reserve(found.size());
  for (auto& [key, file] : found) files.push_back(std::move(file));
  return files;
}

}  // namespace

void write_checkpoint(const fs::path& file, const Checkpoint& checkpoint) {
  std::map<std::string, const Archive::Entry*> tensors;
  const Archive flow = checkpoint.flow ? archive_of(*checkpoint.flow) : Archive();
  for (const auto& [name, entry] : flow.entries()) tensors.emplace(flow_stage + "/" + name, &entry);
  for (const StageState& stage : checkpoint.stages) {
    for (const auto& [name, entry] : stage.archive.entries()) {
      if (!tensors.emplace(stage.name + "/" + name, &entry).second) {
        throw Error("two stages '" + stage.name + "' in one checkpoint", Fault::internal);
      }
    }
  }
  WholeFile whole(file);
  write_safetensors(tensors, metadata_of(checkpoint),
                    [&](std::span<const std::byte> piece) { whole.write(piece); });
  whole.commit();
}

Checkpoint read_checkpoint(const fs::path& file) {
  return parse_checkpoint(read_file(file), file);
}

Checkpoint parse_checkpoint(std::span<const std::byte> bytes, const fs::path& file) {
  Checkpoint checkpoint;
  try {
    Safetensors content = parse_safetensors(bytes, file);
    const auto version = content.metadata.find(format::version_key);
    if (version == content.metadata.end()) {
      throw Error("'" + file.string() + "' is damaged, or not a checkpoint: its metadata lacks '" +
                  format::version_key + "'");
    }
    if (version->second != checkpoint_version && version->second != earlier_checkpoint_version) {
      refuse(
          "'{}' has format {}, but this program reads formats {} and {}; resume with the version "
          "of Seam that wrote it",
          file.string(), version->second, earlier_checkpoint_version, checkpoint_version);
    }
    try {
      take_metadata(content.metadata, checkpoint);
      take_tensors(content.tensors, checkpoint);
    } catch (const Error& error) {
      throw Error("'" + file.string() + "' is damaged: " + error.what());
    }
  } catch (const Error& error) {
    const std::string text = std::string("checkpoint ") + error.what();
    if (error.fault() == Fault::data) throw Damaged(text);
    throw Error(text, error.fault());
  }
  return checkpoint;
}

CheckpointName name_of(const Checkpoint& checkpoint) {
  return {checkpoint.position.epochs_done, checkpoint.position.flows_done,
          checkpoint.flow ? checkpoint.flow->point.steps : 0, checkpoint.position.after_done};
}

fs::path CheckpointFolder::write(const Checkpoint& checkpoint, std::int64_t last) const {
  std::error_code made;
  fs::create_directories(folder_, made);
  if (made) throw path_fault("cannot create", folder_, made);
  const CheckpointName written = name_of(checkpoint);
  fs::path file = folder_ / to_text(written);
  write_checkpoint(file, checkpoint);
  constexpr std::int64_t last_within = 2;
  std::int64_t whole = 0;
  std::int64_t within = 0;
  for (const fs::path& present : files()) {
    const CheckpointName name = *checkpoint_name(present.filename().string());
    const std::optional<std::int64_t> epochs = best_epochs(checkpoint.position);
    const bool best = epochs && name == CheckpointName{*epochs};
    // Checkpoints within an epoch are outdated after it. One that would come after the newest is
    // from `before`, or from a process that resumed from an earlier checkpoint.
    const bool outdated = name.is_within_epoch() && (whole > 0 || written < name);
    const bool too_many = name.is_within_epoch() ? ++within > last_within : ++whole > last;
    std::error_code ignored;  // an extra file does no harm
    if (!best && (outdated || too_many)) fs::remove(present, ignored);
  }
  return file;
}

std::vector<fs::path> CheckpointFolder::files() const {
  return files_in(folder_, checkpoint_name);
}

CheckpointFolder::Newest CheckpointFolder::newest(
    const std::function<bool(const CheckpointName&)>& wanted) const {
  Newest newest;
  for (const fs::path& file : files()) {
    if (wanted && !wanted(*checkpoint_name(file.filename().string()))) continue;
    const std::vector<std::byte> bytes = bytes_of(file);
    try {
      newest.checkpoint = parse_checkpoint(bytes, file);
      newest.file = file;
      return newest;
    } catch (const Damaged& error) {
      newest.damaged.push_back({file, error.what()});
    }
  }
  if (newest.damaged.empty()) return newest;
  std::string text = "no checkpoint of this run can be used; start a new run";
  for (const DamagedFile& file : newest.damaged) text += "\n" + file.how;
  throw Error(text);
}

fs::path CheckpointFolder::set_aside(const fs::path& file) {
  const std::string name = file.string() + ".damaged";
  fs::path aside = name;
  for (int number = 2; fs::exists(fs::symlink_status(aside)); ++number) {
    aside = name + "-" + std::to_string(number);
  }
  std::error_code error;
  fs::rename(file, aside, error);
  if (error) throw path_fault("cannot rename", file, error);
  return aside;
}

std::optional<BestKept> best_kept(const KeepRule& rule, std::optional<BestKept> before,
                                  const fs::path& checkpoints, const fs::path& metrics,
                                  std::uint64_t size) {
  if (rule.best.empty()) return std::nullopt;
  const auto is_there = [&](std::int64_t epochs) {
    return fs::exists(checkpoints / to_text(CheckpointName{epochs, 0, 0}));
  };
  // Select again, because the direction may have changed; the previous best is among the files.
  SchedulePosition position;
  for (const auto& [epoch, values] : values_by_epoch(rule.best, metrics, size)) {
    position.epochs_done = epoch + 1;
    if (is_there(position.epochs_done)) note_kept(rule, mean(values), position);
  }
  const bool stands = before && before->metric == rule.best && is_there(before->epochs);
  if (!position.best_kept && stands) return before;
  return std::move(position.best_kept);
}

}  // namespace seam::host
