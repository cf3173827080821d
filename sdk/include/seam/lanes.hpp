// SPDX-License-Identifier: Apache-2.0
/// Networks in lanes (seam::Lanes): the rows of a batch in several passes, one after the other.
///
///     rows 0 to 127    ─► pass ─┐                                 ┌─► pass back ─► gradient ─┐
///     rows 128 to 255  ─► pass ─┤                                 ├─► pass back ─► gradient ─┴ + ┐
///     rows 256 to 383  ─► pass ─┼─► all rows ─► losses ─► back ─► ┼─► pass back ─► gradient ─┬ + ┴
///     rows 384 to 511  ─► pass ─┘                                 └─► pass back ─► gradient ─┘
///
/// Each pass has its own batch statistics, random numbers and graph. In the graph outside, all
/// passes are a single node. With LaneMemory::recompute they leave no graph and are computed again
/// for the gradient: Gao, Zhang, Han, Callan, "Scaling deep contrastive learning batch size under
/// memory limited setup", 2021 (GradCache).
///
/// The results of a lane depend on its own rows alone, and sums on the lanes' numbers, so that
/// lanes may be computed anywhere: ranks (<seam/ranks.hpp>) compute neighbouring lanes each, and
/// exchange results, buffers and gradients. Everything outside the lanes, each of them computes.
#pragma once

#include <torch/types.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "seam/context.hpp"
#include "seam/declaration.hpp"
#include "seam/packet.hpp"
#include "seam/tensor.hpp"

namespace seam::detail {

using Tensors = std::vector<Tensor>;

/// A network as lanes see it.
struct LaneNetwork {
  /// Reads and sets fields of a packet, with LibTorch's generator seeded for that packet.
  std::function<void(Packet& rows, Context& context)> pass;
  std::vector<std::string> reads;  ///< fields, all by row
  Tensors weights;                 ///< those that are trained, each once
  Tensors buffers;
  Tensors buffers_before;  ///< their values before the batch, from which each lane starts

  [[nodiscard]] bool reads_field(std::string_view name) const {
    return std::ranges::find(reads, name) != reads.end();
  }
};

/// The declared fields that a network reads. Throws seam::Error (configuration) if lanes could not
/// be told apart in a declared field, or not be joined.
[[nodiscard]] std::vector<std::string> fields_read_by_row(const Configured& declared,
                                                          const std::string& stage);

/// Computes a batch in as many lanes as the run has, and sets the fields that the network provides.
/// A batch of a single lane is an ordinary one. Batch statistics need two rows per lane; in
/// evaluation, lanes have at least eight, because small ones are slower.
void compute_in_lanes(Packet& packet, LaneNetwork network, Context& context);

}  // namespace seam::detail
