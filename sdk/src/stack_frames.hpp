/// The stack trace that LibTorch adds to the messages of its exceptions.
#pragma once

#include <string>
#include <string_view>

namespace seam::host {

inline std::string without_frames(std::string_view message) {
  message = message.substr(0, message.find("\nException raised from "));
  message = message.substr(0, message.find("\nframe #0: "));
  return std::string(message.substr(0, message.find_last_not_of('\n') + 1));
}

}  // namespace seam::host
