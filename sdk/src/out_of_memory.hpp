/// The error for a failed allocation: its fault is `data`, as for a full disk, since the run needs
/// more than the machine has, and its message names settings to lower.
#pragma once

#include <string>
#include <string_view>

#include "seam/error.hpp"

namespace seam::host {

/// `detail`: message of a library; may be empty.
inline Error out_of_memory(std::string_view detail = {}) {
  std::string text = "there is not enough memory";
  if (!detail.empty()) text += " (" + std::string(detail) + ")";
  return Error(text +
                   "; lower the `size` of the batch, the size of the images or of the model, "
                   "`cache` of image.decode, or `packets` and `bytes` in [limits]",
               Fault::data);
}

/// Returns whether the message of an exception reports this: LibTorch and OpenCV share no type for
/// it.
inline bool is_out_of_memory(std::string_view message) {
  for (const std::string_view words :
       {"can't allocate memory", "not enough memory", "out of memory", "Insufficient memory"}) {
    if (message.find(words) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace seam::host
