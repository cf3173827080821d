/// Pictures: any bytes give an image of the size that was allowed, or an error of the data.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <seam/error.hpp>

#include "stages/image/decode_image.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::uint64_t most = 1 << 20;  // larger ones would be slow and no other code
  try {
    const seam::Image image = seam::stages::decode_image({data, size}, "fuzz", {most});
    if (image.bytes() > 3 * most || image.channels() != 3 || image.empty()) std::abort();
  } catch (const seam::Error&) {  // what is meant to come; anything else is a defect
  }
  return 0;
}
