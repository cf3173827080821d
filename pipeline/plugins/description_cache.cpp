#include "pipeline/plugins/description_cache.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/property_tree/json_parser.hpp>
#include <boost/property_tree/ptree.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string_view>
#include <system_error>
#include <utility>

#include "seam/random.hpp"

namespace seam::host {
namespace {

namespace fs = std::filesystem;
using Tree = boost::property_tree::ptree;  // JSON, every value a text

constexpr std::string_view format = "1";  // of the files; others are not read

void put(Tree& tree, const char* key, const std::string& value) {
  tree.push_back({key, Tree(value)});
}

std::string text_at(const Tree& tree, const char* key) {
  return tree.get_child(key).get_value<std::string>();
}

bool flag_at(const Tree& tree, const char* key) {
  return text_at(tree, key) == "1";
}

std::string flag_text(bool flag) {
  return flag ? "1" : "0";
}

/// Exact, for doubles too.
std::string exact(double number) {
  std::array<char, 48> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%a", number);
  return buffer.data();
}

template <class List, class ToTree>
void put_list(Tree& tree, const char* key, const List& list, const ToTree& to_tree) {
  Tree elements;
  for (const auto& element : list) elements.push_back({"", to_tree(element)});
  tree.push_back({key, std::move(elements)});
}

template <class T, class FromTree>
std::vector<T> list_at(const Tree& tree, const char* key, const FromTree& from_tree) {
  std::vector<T> list;
  for (const auto& [no_name, element] : tree.get_child(key)) list.push_back(from_tree(element));
  return list;
}

Tree text_tree(const std::string& text) {
  return Tree(text);
}

std::string text_of(const Tree& tree) {
  return tree.get_value<std::string>();
}

std::vector<std::string> texts_at(const Tree& tree, const char* key) {
  return list_at<std::string>(tree, key, text_of);
}

/// {"type": position in the variant, "value": [texts]}
Tree value_tree(const Value& value) {
  Tree tree;
  put(tree, "type", std::to_string(value.index()));
  struct Texts {
    std::vector<std::string> operator()(bool flag) const { return {flag_text(flag)}; }
    std::vector<std::string> operator()(std::int64_t integer) const {
      return {std::to_string(integer)};
    }
    std::vector<std::string> operator()(double number) const { return {exact(number)}; }
    std::vector<std::string> operator()(const std::string& text) const { return {text}; }
    std::vector<std::string> operator()(const std::vector<std::int64_t>& list) const {
      std::vector<std::string> texts;
      for (const std::int64_t element : list) texts.push_back(std::to_string(element));
      return texts;
    }
    std::vector<std::string> operator()(const std::vector<double>& list) const {
      std::vector<std::string> texts;
      for (const double element : list) texts.push_back(exact(element));
      return texts;
    }
    std::vector<std::string> operator()(const std::vector<std::string>& list) const { return list; }
  };
  put_list(tree, "value", std::visit(Texts{}, value), text_tree);
  return tree;
}

Value value_of(const Tree& tree) {
  std::vector<std::string> texts = texts_at(tree, "value");
  const auto integer = [](const std::string& text) -> std::int64_t { return std::stoll(text); };
  const auto number = [](const std::string& text) { return std::strtod(text.c_str(), nullptr); };
  switch (tree.get_child("type").get_value<int>()) {
    case 0:
      return texts.at(0) == "1";
    case 1:
      return integer(texts.at(0));
    case 2:
      return number(texts.at(0));
    case 3:
      return texts.at(0);
    case 4: {
      std::vector<std::int64_t> list;
      std::ranges::transform(texts, std::back_inserter(list), integer);
      return list;
    }
    case 5: {
      std::vector<double> list;
      std::ranges::transform(texts, std::back_inserter(list), number);
      return list;
    }
    default:
      return texts;
  }
}

Tree parameter_tree(const ParameterInfo& parameter) {
  Tree tree;
  put(tree, "name", parameter.name);
  put(tree, "doc", parameter.doc);
  put(tree, "unit", parameter.unit);
  put(tree, "kind", std::to_string(static_cast<int>(parameter.kind)));
  if (parameter.default_value) tree.push_back({"default", value_tree(*parameter.default_value)});
  put(tree, "required", flag_text(parameter.required));
  if (parameter.least) put(tree, "least", exact(*parameter.least));
  if (parameter.most) put(tree, "most", exact(*parameter.most));
  put_list(tree, "choices", parameter.choices, text_tree);
  put_list(tree, "renamed_from", parameter.renamed_from, text_tree);
  put(tree, "interface", parameter.interface);
  return tree;
}

ParameterInfo parameter_of(const Tree& tree) {
  ParameterInfo parameter;
  const auto bound = [&](const char* key) -> std::optional<double> {
    const auto found = tree.get_child_optional(key);
    if (!found) return std::nullopt;
    return std::strtod(text_of(*found).c_str(), nullptr);
  };
  parameter.name = text_at(tree, "name");
  parameter.doc = text_at(tree, "doc");
  parameter.unit = text_at(tree, "unit");
  parameter.kind = static_cast<ValueKind>(tree.get_child("kind").get_value<int>());
  if (const auto value = tree.get_child_optional("default")) {
    parameter.default_value = value_of(*value);
  }
  parameter.required = flag_at(tree, "required");
  parameter.least = bound("least");
  parameter.most = bound("most");
  parameter.choices = texts_at(tree, "choices");
  parameter.renamed_from = texts_at(tree, "renamed_from");
  parameter.interface = text_at(tree, "interface");
  return parameter;
}

Tree field_tree(const FieldInfo& field) {
  Tree tree;
  put(tree, "name", field.name);
  put(tree, "type", field.type);
  put(tree, "contract", field.contract);
  put(tree, "doc", field.doc);
  return tree;
}

FieldInfo field_of(const Tree& tree) {
  return {text_at(tree, "name"), text_at(tree, "type"), text_at(tree, "contract"),
          text_at(tree, "doc")};
}

void put_configured(Tree& tree, const Configured& configured) {
  put_list(tree, "needs", configured.needs, field_tree);
  put_list(tree, "accepts", configured.accepts, field_tree);
  put_list(tree, "provides", configured.provides, field_tree);
  put_list(tree, "labels_read", configured.labels_read, text_tree);
  put(tree, "keeps_state", flag_text(configured.keeps_state));
  put(tree, "replaces_packets", flag_text(configured.replaces_packets));
  put(tree, "trains", flag_text(configured.trains));
}

Configured configured_of(const Tree& tree) {
  Configured configured;
  configured.needs = list_at<FieldInfo>(tree, "needs", field_of);
  configured.accepts = list_at<FieldInfo>(tree, "accepts", field_of);
  configured.provides = list_at<FieldInfo>(tree, "provides", field_of);
  configured.labels_read = texts_at(tree, "labels_read");
  configured.keeps_state = flag_at(tree, "keeps_state");
  configured.replaces_packets = flag_at(tree, "replaces_packets");
  configured.trains = flag_at(tree, "trains");
  return configured;
}

Tree stage_tree(const std::string& name, const DescriptionCache::StageRecord& stage) {
  Tree tree;
  put(tree, "name", name);
  put(tree, "kind", std::to_string(static_cast<int>(stage.kind)));
  put(tree, "compute_thread", flag_text(stage.on_compute_thread));
  put(tree, "doc", stage.description.doc);
  put_list(tree, "parameters", stage.description.parameters, parameter_tree);
  put_list(tree, "offers", stage.description.offers,
           [](const OfferedInterface& offered) { return Tree(offered.interface); });
  put_list(tree, "upstream", stage.description.upstream, [](const UpstreamReference& upstream) {
    Tree reference;
    put(reference, "interface", upstream.interface);
    put(reference, "doc", upstream.doc);
    return reference;
  });
  put_configured(tree, stage.description);
  Tree all;
  for (const auto& [values, configured] : stage.configured) {
    Tree one;
    put(one, "values", values);
    put_configured(one, configured);
    all.push_back({"", std::move(one)});
  }
  tree.push_back({"configured", std::move(all)});
  return tree;
}

std::shared_ptr<DescriptionCache::StageRecord> stage_of(const Tree& tree) {
  auto stage = std::make_shared<DescriptionCache::StageRecord>();
  stage->kind = static_cast<StageKind>(tree.get_child("kind").get_value<int>());
  stage->on_compute_thread = flag_at(tree, "compute_thread");
  Description& description = stage->description;
  description.doc = text_at(tree, "doc");
  description.parameters = list_at<ParameterInfo>(tree, "parameters", parameter_of);
  description.offers = list_at<OfferedInterface>(tree, "offers", [](const Tree& offered) {
    return OfferedInterface{text_of(offered), nullptr};
  });
  description.upstream = list_at<UpstreamReference>(tree, "upstream", [](const Tree& upstream) {
    return UpstreamReference{text_at(upstream, "interface"), text_at(upstream, "doc"), {}, {}};
  });
  static_cast<Configured&>(description) = configured_of(tree);
  for (const auto& [no_name, one] : tree.get_child("configured")) {
    stage->configured[text_at(one, "values")] = configured_of(one);
  }
  return stage;
}

std::string values_text(const DescriptionCache::Values& values) {
  std::string text;
  for (const auto& [name, value] : values) text += name + " = " + to_text(value) + "\n";
  return text;
}

/// Says what another stage said; never processes a packet.
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
      throw Error("a recorded stage was given values that it has no record of", Fault::internal);
    }
    static_cast<Configured&>(description) = known->second;
  }
  [[nodiscard]] bool on_compute_thread() const override { return record_->on_compute_thread; }

 private:
  std::shared_ptr<const DescriptionCache::StageRecord> record_;
  DescriptionCache::Values values_;
};

/// What must be the same for a record to hold; empty where the file cannot be looked at.
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
  // A hash of the path, the same on every machine; the identity tells two of the same hash apart.
  std::array<char, 24> name{};
  std::snprintf(name.data(), name.size(), "%016llx",
                static_cast<unsigned long long>(stream_of(plugin.string())));
  return folder_ / (std::string(name.data()) + ".json");
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
    Tree root;
    boost::property_tree::read_json(file.string(), root);
    if (text_at(root, "identity") != record.identity) return record;
    for (const auto& [no_name, stage] : root.get_child("stages")) {
      record.stages[text_at(stage, "name")] = stage_of(stage);
    }
  } catch (const std::exception&) {
    record.stages.clear();  // damaged: as if it were not there
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
    parameter.assign = nullptr;  // they point into the stage, which goes
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
  constexpr std::size_t most = 200;  // sweeps of a parameter would let it grow for ever
  if (found->second->configured.size() >= most) found->second->configured.clear();
  found->second->configured[values_text(values)] =
      static_cast<const Configured&>(stage.description());
  record.changed = true;
}

void DescriptionCache::save() {
  for (auto& [plugin, record] : plugins_) {
    if (!record.changed) continue;
    Tree root;
    put(root, "identity", record.identity);
    Tree stages;
    for (const auto& [name, stage] : record.stages) {
      stages.push_back({"", stage_tree(name, *stage)});
    }
    root.push_back({"stages", std::move(stages)});
    std::error_code none;
    fs::create_directories(folder_, none);
    const fs::path file = file_of(plugin);
    fs::path part = file;
    part += "." + std::to_string(::getpid());  // of two programs at once the last one stays
    try {
      boost::property_tree::write_json(part.string(), root, std::locale::classic(), false);
      fs::rename(part, file);
    } catch (const std::exception&) {
      fs::remove(part, none);
    }
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
