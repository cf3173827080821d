/// An update of many elementwise operations, block by block: memory is then read and written once,
/// and not in each of them.
///
///     weight, gradient, moments ─► the same 32,768 elements of each ─► f, on one of the threads
#pragma once

#include <seam/tensor.hpp>

namespace seam::stages {

/// Calls f, without gradients, for the same part of each of these tensors of one shape, until it
/// was called for all elements; of an undefined tensor, the part is undefined. f must treat each
/// element independently of the others, and may change them in place. Tensors on a device, few
/// elements, and tensors that lie differently in memory are one part.
void in_blocks(const std::vector<Tensor>& tensors,
               const std::function<void(const std::vector<Tensor>&)>& f);

}  // namespace seam::stages
