// SPDX-License-Identifier: Apache-2.0
/// The structure of a network, as described by its stage; `seam inspect` prints the tree.
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
#include <string_view>
#include <vector>

#include "seam/export.hpp"

namespace seam {

/// The parameter of a network's stage that lists the weights that are not imported.
inline constexpr std::string_view skip_parameter = "skip";

/// The role of a network's tensor in training.
enum class TensorUse : std::uint8_t {
  trained,
  frozen,  ///< a weight that gets no gradient
  buffer,  ///< not a weight, such as running statistics
  shared,  ///< a tensor of an earlier part, counted there
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

/// Number of elements in a network.
struct NetworkSize {
  std::int64_t trained = 0;
  std::int64_t frozen = 0;
  std::int64_t buffers = 0;

  [[nodiscard]] std::int64_t total() const { return trained + frozen + buffers; }
  friend bool operator==(const NetworkSize&, const NetworkSize&) = default;
};

/// For the part and everything in it; shared tensors are counted at their first occurrence.
[[nodiscard]] SEAM_EXPORT NetworkSize size_of(const NetworkPart& part);

/// The tree as above, one line per part: name, kind, number of elements, its own tensors.
[[nodiscard]] SEAM_EXPORT std::string to_text(const NetworkPart& network);

/// Provided by a stage with a network.
class DescribesNetwork {
 public:
  virtual ~DescribesNetwork() = default;
  /// Between open() and close().
  [[nodiscard]] virtual NetworkPart describe_network() const = 0;
};

}  // namespace seam
