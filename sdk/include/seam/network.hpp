// SPDX-License-Identifier: Apache-2.0
/// What a network consists of, as described by its stage; `seam inspect` prints the tree.
///
///     network               ResNet       21,513,000
///       conv1               Conv2d            9,408  weight [64,3,7,7]
///       layer1              Sequential      221,952
///         0                 BasicBlock       73,984
///           ...
///
/// A stage derived from seam::ModuleStage needs no code for this; any other declares
/// `d.offers<DescribesNetwork>(*this)`. No LibTorch is needed here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "seam/export.hpp"

namespace seam {

/// What becomes of a network's tensor in training.
enum class TensorUse : std::uint8_t {
  trained,
  frozen,  ///< a weight that gets no gradient
  buffer,  ///< not a weight: running statistics and the like
  shared,  ///< a tensor of an earlier part, where it is counted
};

/// "trained", "frozen", ...
[[nodiscard]] SEAM_EXPORT std::string to_string(TensorUse use);

struct NetworkTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  TensorUse use = TensorUse::trained;
};

struct NetworkPart {
  std::string name;
  std::string kind;                    ///< "Conv2d"
  std::vector<NetworkTensor> tensors;  ///< its own, without those of its parts
  std::vector<NetworkPart> parts;
};

/// How many numbers a network holds.
struct NetworkSize {
  std::int64_t trained = 0;
  std::int64_t frozen = 0;
  std::int64_t buffers = 0;

  [[nodiscard]] std::int64_t total() const { return trained + frozen + buffers; }
  friend bool operator==(const NetworkSize&, const NetworkSize&) = default;
};

/// Of the part and all that is in it; shared tensors count where they come first.
[[nodiscard]] SEAM_EXPORT NetworkSize size_of(const NetworkPart& part);

/// The tree as above, a line a part: name, kind, how many numbers are in it, its own tensors.
[[nodiscard]] SEAM_EXPORT std::string to_text(const NetworkPart& network);

/// Offered by a stage that holds a network.
class DescribesNetwork {
 public:
  virtual ~DescribesNetwork() = default;
  /// Between open() and close().
  [[nodiscard]] virtual NetworkPart describe_network() const = 0;
};

}  // namespace seam
