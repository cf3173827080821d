/// Images: any bytes give an image within the size limit, or a data error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <seam/error.hpp>

#include "stages/image/decode_image.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::uint64_t most = 1 << 20;  // larger images would be slow and use the same code
  try {
    const seam::Image image = seam::stages::decode_image({data, size}, "fuzz", most);
    if (image.bytes() > 3 * most || image.channels() != 3 || image.empty()) std::abort();
  } catch (const seam::Error&) {  // expected; anything else is a bug
  }
  return 0;
}
