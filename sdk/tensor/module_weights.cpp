#include "seam/module_weights.hpp"

#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string_view>

#include "seam/name_pattern.hpp"
#include "seam/safetensors.hpp"
#include "seam/shape_text.hpp"

namespace seam::detail {
namespace {

/// "a, b and 12 more"
std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t shown = 8;
  std::string text;
  for (std::size_t at = 0; at < std::min(shown, names.size()); ++at) {
    text += (at > 0 ? ", " : "") + names[at];
  }
  if (names.size() > shown) text += " and " + std::to_string(names.size() - shown) + " more";
  return text;
}

/// Throws seam::Error (configuration) if a pattern matches none of the names.
void expect_matches(const std::vector<std::string>& patterns, const std::vector<std::string>& names,
                    const std::string& parameter, const std::string& stage) {
  for (const std::string& pattern : patterns) {
    const auto fits = [&](const std::string& name) { return matches(pattern, name); };
    if (std::ranges::any_of(names, fits)) continue;
    throw Error("'" + parameter + "' of stage '" + stage + "': no weight matches '" + pattern +
                    "'; the weights are " + some_of(names),
                Fault::configuration);
  }
}

/// The entries under the module's names: for each name, the first pair whose prefix matches counts.
std::map<std::string, Archive::Entry> renamed_entries(std::map<std::string, Archive::Entry> entries,
                                                      const std::vector<std::string>& pairs,
                                                      const std::string& stage) {
  if (pairs.empty()) return entries;
  std::map<std::string, Archive::Entry> result;
  std::vector<bool> used(pairs.size(), false);
  for (auto& [name, entry] : entries) {
    std::string new_name = name;
    for (std::size_t at = 0; at < pairs.size(); ++at) {
      const std::size_t equals = pairs[at].find('=');
      if (equals == std::string::npos) {
        throw Error("'rename' of stage '" + stage + "': '" + pairs[at] +
                        "' is not a pair of prefixes; write \"prefix in the file=prefix in the "
                        "network\"",
                    Fault::configuration);
      }
      const std::string_view prefix = std::string_view(pairs[at]).substr(0, equals);
      if (!std::string_view(name).starts_with(prefix)) continue;
      new_name = pairs[at].substr(equals + 1) + name.substr(prefix.size());
      used[at] = true;
      break;
    }
    if (!result.emplace(new_name, std::move(entry)).second) {
      throw Error(
          "'rename' of stage '" + stage + "' maps two weights to the same name '" + new_name + "'",
          Fault::configuration);
    }
  }
  for (std::size_t at = 0; at < pairs.size(); ++at) {
    if (!used[at]) {
      throw Error("'rename' of stage '" + stage +
                      "': no name in the file begins with the prefix of '" + pairs[at] + "'",
                  Fault::configuration);
    }
  }
  return result;
}

bool all_frozen(const torch::nn::Module& module) {
  const std::vector<Tensor> parameters = module.parameters();
  return !parameters.empty() &&
         std::ranges::none_of(parameters, [](const Tensor& p) { return p.requires_grad(); });
}

/// Whether a weight can take the values of a tensor from a file. Integers in place of real numbers
/// are quantised, and their scale is not known. Programs that convert a whole file also convert
/// counters of batches.
bool takes_values_of(const Tensor& weight, const Tensor& saved, const std::string& name) {
  return weight.is_floating_point() == saved.is_floating_point() ||
         (saved.is_floating_point() && name.ends_with("num_batches_tracked"));
}

/// The module as a tree. `seen`: the tensors of earlier parts.
NetworkPart network_part(const torch::nn::Module& module, const std::string& name,
                         std::set<const void*>& seen) {
  NetworkPart part;
  part.name = name;
  part.kind = module.name();  // "torch::nn::Conv2dImpl"
  part.kind = part.kind.substr(part.kind.rfind(':') + 1);
  if (part.kind.ends_with("Impl")) part.kind.resize(part.kind.size() - 4);
  const auto add = [&](const std::string& of, const Tensor& tensor, TensorUse use) {
    const bool first = seen.insert(tensor.unsafeGetTensorImpl()).second;
    part.tensors.push_back({of, tensor.sizes().vec(), first ? use : TensorUse::shared});
  };
  for (const auto& own : module.named_parameters(/*recurse=*/false)) {
    const bool trained = own.value().requires_grad();
    add(own.key(), own.value(), trained ? TensorUse::trained : TensorUse::frozen);
  }
  for (const auto& own : module.named_buffers(/*recurse=*/false)) {
    add(own.key(), own.value(), TensorUse::buffer);
  }
  for (const auto& child : module.named_children()) {
    part.parts.push_back(network_part(*child.value(), child.key(), seen));
  }
  return part;
}

}  // namespace

void ProvisionalState::begin_batch(const Named& tensors) {
  restore(tensors);
  for (const auto& [name, tensor] : tensors) before_.emplace_back(name, tensor.detach().clone());
}

void ProvisionalState::restore(const Named& tensors) {
  const torch::NoGradGuard no_gradient;
  for (std::size_t at = 0; at < before_.size(); ++at) {
    Tensor(tensors[at].second).copy_(before_[at].second);
  }
  before_.clear();
}

Tensor tensor_of(const Archive::Entry& entry, const std::string& name) {
  const auto type = scalar_type_of(entry.type);
  if (!type) {
    throw Error("weight '" + name + "' has type " + entry.type + ", which networks do not support");
  }
  Tensor tensor = torch::empty(entry.shape, *type);
  if (tensor.nbytes() != entry.bytes.size()) {
    throw Error("weight '" + name + "' has " + std::to_string(entry.bytes.size()) +
                " bytes instead of the " + std::to_string(tensor.nbytes()));
  }
  if (!entry.bytes.empty()) std::memcpy(tensor.data_ptr(), entry.bytes.data(), entry.bytes.size());
  return tensor;
}

std::vector<std::pair<std::string, Tensor>> named_state(const torch::nn::Module& module) {
  std::vector<std::pair<std::string, Tensor>> state;
  for (const auto& item : module.named_parameters()) state.emplace_back(item.key(), item.value());
  for (const auto& item : module.named_buffers()) state.emplace_back(item.key(), item.value());
  return state;
}

void expect_only(const Archive& archive, const torch::nn::Module& module) {
  std::vector<std::string> unexpected;
  const auto state = named_state(module);
  for (const auto& [name, entry] : archive.entries()) {
    const auto is_it = [&name = name](const auto& item) { return item.first == name; };
    if (std::none_of(state.begin(), state.end(), is_it)) unexpected.push_back(name);
  }
  if (unexpected.empty()) return;
  throw Error("the checkpoint has weights that this model does not have: " + some_of(unexpected) +
              "; it belongs to a different architecture");
}

void import_weights(torch::nn::Module& module, const WeightSettings& settings,
                    const std::string& stage, const std::vector<std::string>& without_place) {
  if (settings.file.empty()) {
    if (settings.rename.empty() && settings.skip.empty()) return;
    throw Error("stage '" + stage + "' has 'rename' or 'skip' but no 'weights'",
                Fault::configuration);
  }
  std::map<std::string, Archive::Entry> entries =
      renamed_entries(read_weights(settings.file, stage), settings.rename, stage);
  std::vector<std::string> names;
  for (const auto& [name, tensor] : named_state(module)) {
    if (!entries.contains(name)) names.push_back(name);
  }
  for (const auto& [name, entry] : entries) names.push_back(name);
  expect_matches(settings.skip, names, "skip", stage);
  const torch::NoGradGuard no_gradient;
  std::vector<std::string> missing;
  std::vector<std::string> misshapen;
  std::vector<std::string> mistyped;
  std::vector<std::pair<Tensor, Tensor>> copies;  // made when all weights are known to fit
  for (const auto& [name, tensor] : named_state(module)) {
    const auto found = entries.find(name);
    if (matches_any(settings.skip, name)) {
      if (found != entries.end()) entries.erase(found);
      continue;
    }
    if (found == entries.end()) {
      if (!std::string_view(name).ends_with("num_batches_tracked")) missing.push_back(name);
      continue;
    }
    if (found->second.shape != tensor.sizes().vec()) {
      misshapen.push_back(name + " " + shape_text(found->second.shape) + " instead of " +
                          shape_text(tensor.sizes()));
    } else {
      Tensor saved = tensor_of(found->second, name);
      if (!takes_values_of(tensor, saved, name)) {
        mistyped.push_back(name + " " + found->second.type + " instead of " +
                           element_name(tensor.scalar_type()));
      }
      copies.emplace_back(tensor, std::move(saved));
    }
    entries.erase(found);
  }
  std::vector<std::string> unexpected;
  for (const auto& [name, entry] : entries) {
    if (matches_any(settings.skip, name) || matches_any(without_place, name)) continue;
    unexpected.push_back(name);
  }
  std::string problems;
  if (!missing.empty()) problems += "\n  missing: " + some_of(missing);
  if (!unexpected.empty()) problems += "\n  unexpected: " + some_of(unexpected);
  if (!misshapen.empty()) problems += "\n  different shape: " + some_of(misshapen);
  if (!mistyped.empty()) problems += "\n  different type: " + some_of(mistyped);
  if (!problems.empty()) {
    throw Error("the weights in '" + settings.file.string() +
                    "' do not match the network of stage '" + stage + "'" + problems +
                    "\n  set the stage's parameters to those of the network in the file; 'rename' "
                    "changes prefixes of names, 'skip' keeps initial values",
                Fault::configuration);
  }
  if (copies.empty() && !settings.skip.empty()) {
    throw Error("stage '" + stage + "' takes nothing from '" + settings.file.string() +
                    "': 'skip' excludes all of its weights; exclude fewer, or remove both settings",
                Fault::configuration);
  }
  for (auto& [target, source] : copies) target.copy_(source);
}

void freeze_parameters(torch::nn::Module& module, const WeightSettings& settings,
                       const std::string& stage) {
  std::vector<std::string> names;
  std::vector<std::string> initial;
  for (const auto& item : module.named_parameters()) {
    names.push_back(item.key());
    if (!matches_any(settings.freeze, item.key())) continue;
    Tensor(item.value()).set_requires_grad(false);
    if (matches_any(settings.skip, item.key())) initial.push_back(item.key());
  }
  expect_matches(settings.freeze, names, "freeze", stage);
  if (initial.empty()) return;
  throw Error("in stage '" + stage + "', 'skip' leaves " + some_of(initial) +
                  " at initial values, and 'freeze' keeps them there; exclude them from one of the "
                  "two",
              Fault::configuration);
}

std::map<std::string, double> rates_by_name(const torch::nn::Module& module,
                                            const std::vector<std::string>& rates,
                                            const std::string& stage) {
  std::map<std::string, double> factors;
  std::vector<std::string> names;
  for (const auto& item : module.named_parameters()) names.push_back(item.key());
  for (const std::string& pair : rates) {
    const auto refuse = [&](const std::string& why) {
      throw Error("'rates' of stage '" + stage + "': " + why, Fault::configuration);
    };
    const std::size_t equals = pair.rfind('=');
    const std::string number = equals == std::string::npos ? "" : pair.substr(equals + 1);
    char* end = nullptr;
    const double factor = std::strtod(number.c_str(), &end);
    if (number.empty() || *end != '\0' || !(factor >= 0) || !std::isfinite(factor)) {
      refuse("'" + pair + "' is not \"PATTERN=FACTOR\", such as \"*.bias=2\"");
    }
    const std::string pattern = pair.substr(0, equals);
    bool fits = false;
    for (const std::string& name : names) {
      if (!matches(pattern, name)) continue;
      factors[name] = factor;
      fits = true;
    }
    if (!fits) refuse("no weight matches '" + pattern + "'; the weights are " + some_of(names));
  }
  return factors;
}

void set_training_mode(torch::nn::Module& module, bool training) {
  module.train(training && !all_frozen(module));
  if (!module.is_training()) return;
  for (const auto& part : module.modules(/*include_self=*/false)) {
    if (all_frozen(*part)) part->eval();
  }
}

NetworkPart network_tree(const torch::nn::Module& module) {
  std::set<const void*> seen;
  return network_part(module, "network", seen);
}

}  // namespace seam::detail
