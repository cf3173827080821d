#include "pipeline/plugins/description_cache.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "pipeline/plugins/description_json.hpp"
#include "seam/random.hpp"

namespace seam::host {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view format = "5";  // of the files; others are ignored

std::string values_text(const DescriptionCache::Values& values) {
  std::string text;
  for (const auto& [name, value] : values) text += name + " = " + to_text(value) + "\n";
  return text;
}

/// Repeats the declaration of another stage; never processes a packet.
class RecordedStage final : public Stage {
 public:
  explicit RecordedStage(std::shared_ptr<const DescriptionCache::StageRecord> record)
      : Stage(record->kind), record_(std::move(record)) {}

  void declare(Declaration& declaration) override {
    Description& description = declaration.description();
    description = record_->description;
    for (ParameterInfo& parameter : description.parameters) {
      parameter.assign = [this, name = parameter.name](const Value& value) {
        values_[name] = value;
      };
      parameter.bind = [](void*) {};
    }
    for (OfferedInterface& offered : description.offers) offered.target = this;
    for (UpstreamReference& upstream : description.upstream) {
      upstream.add = [](void*) {};
      upstream.clear = [] {};
    }
    if (values_.empty()) return;
    const auto known = record_->configured.find(values_text(values_));
    if (known == record_->configured.end()) {
      throw Error("a recorded stage was given values for which it has no record", Fault::internal);
    }
    static_cast<Configured&>(description) = known->second;
  }
  [[nodiscard]] bool on_compute_thread() const override { return record_->on_compute_thread; }

 private:
  std::shared_ptr<const DescriptionCache::StageRecord> record_;
  DescriptionCache::Values values_;
};

/// Identifies the state for which a record is valid; empty if the file cannot be examined.
std::string identity_of(const fs::path& plugin) {
  struct stat status {};
  if (::stat(plugin.c_str(), &status) != 0) return {};
  const Manifest host = host_manifest();
  return std::string(format) + " " + plugin.string() + " " + std::to_string(status.st_size) + " " +
         std::to_string(status.st_mtim.tv_sec) + "." + std::to_string(status.st_mtim.tv_nsec) +
         " " + std::to_string(status.st_ino) + " sdk " + host.sdk + " " + host.compiler + " " +
         host.stdlib;
}

}  // namespace

fs::path DescriptionCache::file_of(const fs::path& plugin) const {
  // A hash of the path, the same on every machine; the identity distinguishes paths with equal
  // hashes.
  std::array<char, 24> name{};
  std::snprintf(name.data(), name.size(), "%016llx",
                static_cast<unsigned long long>(stream_of(plugin.string())));
  return folder_ / (std::string(name.data()) + ".cbor");
}

DescriptionCache::PluginRecord& DescriptionCache::of(const fs::path& plugin) {
  const auto [entry, fresh] = plugins_.try_emplace(plugin);
  PluginRecord& record = entry->second;
  if (!fresh) return record;
  record.identity = identity_of(plugin);
  try {
    std::error_code none;
    const fs::path file = file_of(plugin);
    if (!fs::exists(file, none)) return record;
    std::ifstream stream(file, std::ios::binary);
    const Json root = Json::from_cbor(stream);
    if (root.at("identity") != record.identity) return record;
    for (const auto& [name, stage] : root.at("stages").items()) {
      record.stages[name] = std::make_shared<StageRecord>(record_of(stage));
    }
  } catch (const std::exception&) {
    record.stages.clear();  // damaged: treated as missing
  }
  return record;
}

std::unique_ptr<Stage> DescriptionCache::recorded(const fs::path& plugin,
                                                  const std::string& stage) {
  const PluginRecord& record = of(plugin);
  const auto found = record.stages.find(stage);
  if (found == record.stages.end() || record.identity.empty()) return nullptr;
  return std::make_unique<RecordedStage>(found->second);
}

bool DescriptionCache::knows(const fs::path& plugin, const std::string& stage,
                             const Values& values) {
  const PluginRecord& record = of(plugin);
  const auto found = record.stages.find(stage);
  if (found == record.stages.end()) return false;
  return values.empty() || found->second->configured.contains(values_text(values));
}

void DescriptionCache::record(const fs::path& plugin, const StageRunner& stage) {
  PluginRecord& record = of(plugin);
  if (record.identity.empty() || record.stages.contains(stage.type())) return;
  auto said = std::make_shared<StageRecord>();
  said->kind = stage.kind();
  said->on_compute_thread = stage.on_compute_thread();
  said->description = stage.description();
  for (ParameterInfo& parameter : said->description.parameters) {
    parameter.assign = nullptr;  // they point into the stage, which is destroyed
    parameter.bind = nullptr;
  }
  for (OfferedInterface& offered : said->description.offers) offered.target = nullptr;
  for (UpstreamReference& upstream : said->description.upstream) {
    upstream.add = nullptr;
    upstream.clear = nullptr;
  }
  record.stages[stage.type()] = std::move(said);
  record.changed = true;
}

void DescriptionCache::record_configured(const fs::path& plugin, const StageRunner& stage,
                                         const Values& values) {
  PluginRecord& record = of(plugin);
  const auto found = record.stages.find(stage.type());
  if (found == record.stages.end() || values.empty()) return;
  if (found->second->configured.contains(values_text(values))) return;
  constexpr std::size_t most = 200;  // otherwise sweeps would make it grow without limit
  if (found->second->configured.size() >= most) found->second->configured.clear();
  found->second->configured[values_text(values)] =
      static_cast<const Configured&>(stage.description());
  record.changed = true;
}

void DescriptionCache::save() {
  for (auto& [plugin, record] : plugins_) {
    if (!record.changed) continue;
    Json stages = Json::object();
    for (const auto& [name, stage] : record.stages) stages[name] = json_of(*stage);
    const std::vector<std::uint8_t> bytes =
        Json::to_cbor({{"identity", record.identity}, {"stages", std::move(stages)}});
    std::error_code none;
    fs::create_directories(folder_, none);
    const fs::path file = file_of(plugin);
    fs::path part = file;
    part += "." + std::to_string(::getpid());  // if two programs write at once, the last one wins
    std::ofstream stream(part, std::ios::binary);
    stream.write(reinterpret_cast<const char*>(bytes.data()),  // NOLINT: streams take characters
                 static_cast<std::streamsize>(bytes.size()));
    stream.close();
    std::error_code failed;
    if (stream) fs::rename(part, file, failed);
    if (!stream || failed) fs::remove(part, none);
    record.changed = false;
  }
}

std::unique_ptr<DescriptionCache> user_descriptions() {
  // Read at start-up, before there are other threads.
  // NOLINTBEGIN(concurrency-mt-unsafe): as above
  if (const char* named = std::getenv("XDG_CACHE_HOME"); named != nullptr && *named == '/') {
    return std::make_unique<DescriptionCache>(fs::path(named) / "seam");
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    return std::make_unique<DescriptionCache>(fs::path(home) / ".cache/seam");
  }
  // NOLINTEND(concurrency-mt-unsafe)
  return nullptr;
}

}  // namespace seam::host
