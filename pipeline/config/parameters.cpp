#include "pipeline/config/parameters.hpp"

#include <algorithm>

#include "pipeline/config/merge.hpp"
#include "pipeline/config/values.hpp"
#include "pipeline/config/variants.hpp"
#include "seam/error.hpp"

namespace seam::host {
namespace {

std::string node_text(const Node& node) {
  if (const auto value = scalar(node)) return seam::to_text(*value);
  if (const auto* moment = std::get_if<Moment>(&node.value)) return moment->text;
  std::string text;
  if (const Table* table = node.table()) {
    for (const Entry& entry : table->entries) {
      text += (text.empty() ? "" : ", ") + entry.key + " = " + node_text(entry.node);
    }
    return "{ " + text + " }";
  }
  for (const Node& element : *node.array()) text += (text.empty() ? "" : ", ") + node_text(element);
  return "[" + text + "]";
}

void flatten(const Table& table, const std::string& prefix, Parameters& parameters) {
  for (const Entry& entry : table.entries) {
    const std::string key = prefix.empty() ? entry.key : prefix + "." + entry.key;
    if (const Table* inner = entry.node.table()) {
      flatten(*inner, key, parameters);
    } else {
      parameters[key] = node_text(entry.node);
    }
  }
}

/// The strings of a list in TOML notation; none if the key is not set.
std::vector<std::string> texts_at(const Parameters& parameters, std::string_view key) {
  std::vector<std::string> texts;
  const auto found = parameters.find(key);
  if (found == parameters.end()) return texts;
  const Node list = read_set_value(found->second, {});
  if (list.text() != nullptr) return {*list.text()};
  if (list.array() == nullptr) return texts;
  for (const Node& node : *list.array()) {
    if (node.text() != nullptr) texts.push_back(*node.text());
  }
  return texts;
}

void add_variants(Parameters& parameters) {
  for (const std::string& variant : texts_at(parameters, "chosen.variants")) {
    const std::size_t equals = variant.find('=');
    if (equals != std::string::npos) {
      parameters["variant." + variant.substr(0, equals)] = variant.substr(equals + 1);
    } else {
      std::string& names = parameters["variant"];
      names += (names.empty() ? "" : ",") + variant;
    }
  }
}

Parameters variants_in(const Parameters& parameters) {
  Parameters variants;
  for (auto at = parameters.lower_bound("variant");
       at != parameters.end() && at->first.starts_with("variant"); ++at) {
    if (is_variant_key(at->first)) variants.insert(*at);
  }
  return variants;
}

}  // namespace

bool stands_in(const std::vector<std::string>& keys, std::string_view key) {
  return std::ranges::any_of(keys, [&](const std::string& one) {
    return key == one ||
           (key.starts_with(one) && key.size() > one.size() && key[one.size()] == '.');
  });
}

std::set<std::string> decided_by_variants(const std::vector<const Parameters*>& pipelines) {
  std::vector<std::string> decided;
  std::vector<std::string> set;
  std::map<Parameters, const Parameters*> by_variants;
  std::set<std::string> unequal;  // although the variants are the same
  std::set<std::string> keys;
  for (const Parameters* one : pipelines) {
    for (const std::string& key : texts_at(*one, "chosen.decides")) decided.push_back(key);
    for (const std::string& key : texts_at(*one, "chosen.set")) set.push_back(key);
    for (const auto& [key, value] : *one) keys.insert(key);
  }
  if (decided.empty()) return {};
  for (const Parameters* one : pipelines) {
    const Parameters& like = *by_variants.emplace(variants_in(*one), one).first->second;
    for (const std::string& key : keys) {
      const auto own = one->find(key);
      const auto other = like.find(key);
      const bool equal = (own == one->end() && other == like.end()) ||
                         (own != one->end() && other != like.end() && own->second == other->second);
      if (!equal) unequal.insert(key);
    }
  }
  std::erase_if(keys, [&](const std::string& key) {
    return !stands_in(decided, key) || stands_in(set, key) || unequal.contains(key);
  });
  return keys;
}

bool is_set_by_user(const Parameters& parameters, std::string_view key) {
  return stands_in(texts_at(parameters, "chosen.set"), key);
}

Parameters parameters_of(const std::string& resolved, const std::string& file) {
  Sources sources;
  Findings findings(sources);
  const SourceText& source = sources.add(file, resolved);
  Node root = read_document(source, findings);
  if (!root.broken) expand_tree(*root.table(), {}, sources, findings);
  if (findings.has_errors()) {
    throw Error("'" + file +
                "' is not the pipeline of a run: " + findings.in_order().front().message);
  }
  Parameters parameters;
  flatten(*root.table(), "", parameters);
  add_variants(parameters);
  return parameters;
}

}  // namespace seam::host
