// SPDX-License-Identifier: Apache-2.0
/// Weight handling of seam::ModuleStage: importing, freezing, undoing the changes of skipped
/// batches, and describing the network.
///
///     file: layer1.0.conv1.weight  ──rename──►  module: body.layer1.0.conv1.weight
///           fc.weight              ──skip                (stays as initialised)
#pragma once

#include <torch/nn/module.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "seam/name_pattern.hpp"
#include "seam/network.hpp"
#include "seam/safetensors.hpp"
#include "seam/shape_text.hpp"
#include "seam/tensor.hpp"

namespace seam {

namespace detail {

/// State other than weights that a training batch changes, such as running statistics: the change
/// counts only when the optimizer has accepted the batch (Trainable::batch_accepted).
///
///     begin_batch ──► the batch changes the tensors ──┬─► accept: they stay
///                                                     └─► anything else: restore
///
/// The copies are small and made once per batch: usually two numbers per channel.
class ProvisionalState {
 public:
  /// A model's tensors with their names, always the same in the same order.
  using Named = std::vector<std::pair<std::string, Tensor>>;

  /// Undoes the previous batch, unless it was accepted, and stores the current tensors.
  void begin_batch(const Named& tensors) {
    restore(tensors);
    for (const auto& [name, tensor] : tensors) before_.emplace_back(name, tensor.detach().clone());
  }
  void accept() { before_.clear(); }
  /// Undoes the last batch, unless it was accepted.
  void restore(const Named& tensors) {
    const torch::NoGradGuard no_gradient;
    for (std::size_t at = 0; at < before_.size(); ++at) {
      Tensor(tensors[at].second).copy_(before_[at].second);
    }
    before_.clear();
  }
  /// The valid values: those from before a batch that was not accepted.
  [[nodiscard]] const Named& accepted(const Named& tensors) const {
    return before_.empty() ? tensors : before_;
  }

 private:
  Named before_;  // empty if no batch is open
};

/// The settings of a network's weights in the pipeline file.
struct WeightSettings {
  std::filesystem::path file;       ///< empty: initial weights
  std::vector<std::string> rename;  ///< "prefix in the file=prefix in the module"
  std::vector<std::string> skip;    ///< patterns of names that keep their initial values
  std::vector<std::string> freeze;  ///< patterns of names that are not trained
  double rate_scale = 1;
  std::vector<std::string> rates;  ///< "pattern=factor", in addition to rate_scale
};

/// Creates a tensor on the CPU from a saved entry. Throws seam::Error for a type that LibTorch does
/// not support.
[[nodiscard]] inline Tensor tensor_of(const Archive::Entry& entry, const std::string& name) {
  const auto type = scalar_type_of(entry.type);
  if (!type) {
    throw Error("weight '" + name + "' has type " + entry.type + ", which networks do not support");
  }
  Tensor tensor = torch::empty(entry.shape, *type);
  if (tensor.nbytes() != entry.bytes.size()) {
    throw Error("weight '" + name + "' has " + std::to_string(entry.bytes.size()) +
                " bytes instead of the " + std::to_string(tensor.nbytes()));
  }
  if (!entry.bytes.empty()) {
    std::memcpy(tensor.data_ptr(), entry.bytes.data(), entry.bytes.size());
  }
  return tensor;
}

/// "a, b and 12 more"
[[nodiscard]] inline std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t shown = 8;
  std::string text;
  for (std::size_t at = 0; at < std::min(shown, names.size()); ++at) {
    text += (at > 0 ? ", " : "") + names[at];
  }
  if (names.size() > shown) text += " and " + std::to_string(names.size() - shown) + " more";
  return text;
}

/// Parameters, then buffers.
[[nodiscard]] inline std::vector<std::pair<std::string, Tensor>> named_state(
    const torch::nn::Module& module) {
  std::vector<std::pair<std::string, Tensor>> state;
  for (const auto& item : module.named_parameters()) state.emplace_back(item.key(), item.value());
  for (const auto& item : module.named_buffers()) state.emplace_back(item.key(), item.value());
  return state;
}

/// The entries under the module's names: for each name, the first pair whose prefix matches counts.
[[nodiscard]] inline std::map<std::string, Archive::Entry> renamed_entries(
    std::map<std::string, Archive::Entry> entries, const std::vector<std::string>& pairs,
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

/// Throws seam::Error if the archive has entries that the module does not have.
inline void expect_only(const Archive& archive, const torch::nn::Module& module) {
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

/// Copies the weights from the user's file or run into the module, converting number types. Throws
/// seam::Error with all missing, unexpected and misshapen weights. `num_batches_tracked` may be
/// missing: older files do not have it, and it is not used here. Extra names that match
/// `without_place` are ignored.
inline void import_weights(torch::nn::Module& module, const WeightSettings& settings,
                           const std::string& stage,
                           const std::vector<std::string>& without_place) {
  if (settings.file.empty()) {
    if (settings.rename.empty() && settings.skip.empty()) return;
    throw Error("stage '" + stage + "' has 'rename' or 'skip' but no 'weights'",
                Fault::configuration);
  }
  std::map<std::string, Archive::Entry> entries =
      renamed_entries(read_weights(settings.file, stage), settings.rename, stage);
  const torch::NoGradGuard no_gradient;
  std::vector<std::string> missing;
  std::vector<std::string> misshapen;
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
      copies.emplace_back(tensor, tensor_of(found->second, name));
    }
    entries.erase(found);
  }
  std::vector<std::string> unexpected;
  for (const auto& [name, entry] : entries) {
    if (matches_any(settings.skip, name) || matches_any(without_place, name)) continue;
    unexpected.push_back(name);
  }
  if (!missing.empty() || !unexpected.empty() || !misshapen.empty()) {
    std::string text = "the weights in '" + settings.file.string() +
                       "' do not match the network of stage '" + stage + "'";
    if (!missing.empty()) text += "\n  missing: " + some_of(missing);
    if (!unexpected.empty()) text += "\n  unexpected: " + some_of(unexpected);
    if (!misshapen.empty()) text += "\n  different shape: " + some_of(misshapen);
    text +=
        "\n  set the stage's parameters to those of the network in the file; 'rename' changes "
        "prefixes of names, 'skip' keeps initial values";
    throw Error(text, Fault::configuration);
  }
  for (auto& [target, source] : copies) target.copy_(source);
}

/// Disables the gradients of parameters that match `freeze`. Throws seam::Error for a pattern
/// without a match.
inline void freeze_parameters(torch::nn::Module& module, const std::vector<std::string>& freeze,
                              const std::string& stage) {
  std::vector<std::string> names;
  for (const auto& item : module.named_parameters()) {
    names.push_back(item.key());
    if (matches_any(freeze, item.key())) Tensor(item.value()).set_requires_grad(false);
  }
  for (const std::string& pattern : freeze) {
    if (std::any_of(names.begin(), names.end(),
                    [&](const std::string& name) { return matches(pattern, name); })) {
      continue;
    }
    throw Error("'freeze' of stage '" + stage + "': no weight matches '" + pattern +
                    "'; the weights are " + some_of(names),
                Fault::configuration);
  }
}

/// The factor of `rates` on the learning rate of each parameter: that of the last pattern that
/// matches its name, or 1. Throws seam::Error for an invalid pair and for a pattern without a
/// match.
[[nodiscard]] inline std::map<std::string, double> rates_by_name(
    const torch::nn::Module& module, const std::vector<std::string>& rates,
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

[[nodiscard]] inline bool all_frozen(const torch::nn::Module& module) {
  const std::vector<Tensor> parameters = module.parameters();
  return !parameters.empty() && std::none_of(parameters.begin(), parameters.end(),
                                             [](const Tensor& p) { return p.requires_grad(); });
}

/// Sets training mode for all parts except those whose parameters are all frozen: their batch
/// normalisation and dropout stay in evaluation mode.
inline void set_training_mode(torch::nn::Module& module, bool training) {
  module.train(training && !all_frozen(module));
  if (!module.is_training()) return;
  for (const auto& part : module.modules(/*include_self=*/false)) {
    if (all_frozen(*part)) part->eval();
  }
}

/// The module as a tree. `seen`: the tensors of earlier parts.
[[nodiscard]] inline NetworkPart network_part(const torch::nn::Module& module,
                                              const std::string& name,
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

[[nodiscard]] inline NetworkPart network_tree(const torch::nn::Module& module) {
  std::set<const void*> seen;
  return network_part(module, "network", seen);
}

}  // namespace detail
}  // namespace seam
