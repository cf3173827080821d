/// The option --threads of benchmark programs that compute with LibTorch.
#pragma once

#include <ATen/Parallel.h>

#include "tests/bench/measuring.hpp"

namespace seam::bench {

/// Sets LibTorch's number of threads; 0 leaves it as it is.
inline void use_threads(const Options& options) {
  const std::int64_t threads = options.number("--threads");
  if (threads > 0) at::set_num_threads(static_cast<int>(threads));
}

}  // namespace seam::bench
