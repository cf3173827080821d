// SPDX-License-Identifier: Apache-2.0
/// Weight handling of seam::ModuleStage: importing, freezing, undoing the changes of skipped
/// batches, and describing the network.
///
///     file: layer1.0.conv1.weight  ──rename──►  module: body.layer1.0.conv1.weight
///           fc.weight              ──skip                (stays as initialised)
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "seam/archive.hpp"
#include "seam/network.hpp"
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
  void begin_batch(const Named& tensors);
  void accept() { before_.clear(); }
  /// Undoes the last batch, unless it was accepted.
  void restore(const Named& tensors);
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
[[nodiscard]] Tensor tensor_of(const Archive::Entry& entry, const std::string& name);

/// Parameters, then buffers.
[[nodiscard]] std::vector<std::pair<std::string, Tensor>> named_state(
    const torch::nn::Module& module);

/// Throws seam::Error if the archive has entries that the module does not have.
void expect_only(const Archive& archive, const torch::nn::Module& module);

/// Copies the weights from the user's file or run into the module, converting number types. Throws
/// seam::Error with all missing, unexpected and misshapen weights. `num_batches_tracked` may be
/// missing: older files do not have it, and it is not used here. Extra names that match
/// `without_place` are ignored. A `skip` that leaves no weight to import is an error, too.
void import_weights(torch::nn::Module& module, const WeightSettings& settings,
                    const std::string& stage, const std::vector<std::string>& without_place);

/// Disables the gradients of parameters that match `freeze`. Throws seam::Error for a pattern
/// without a match, and if `skip` leaves one of them at its initial value.
void freeze_parameters(torch::nn::Module& module, const WeightSettings& settings,
                       const std::string& stage);

/// The factor of `rates` on the learning rate of each parameter: that of the last pattern that
/// matches its name, or 1. Throws seam::Error for an invalid pair and for a pattern without a
/// match.
[[nodiscard]] std::map<std::string, double> rates_by_name(const torch::nn::Module& module,
                                                          const std::vector<std::string>& rates,
                                                          const std::string& stage);

/// Sets training mode for all parts except those whose parameters are all frozen: their batch
/// normalisation and dropout stay in evaluation mode.
void set_training_mode(torch::nn::Module& module, bool training);

/// The module as a tree.
[[nodiscard]] NetworkPart network_tree(const torch::nn::Module& module);

}  // namespace detail
}  // namespace seam
