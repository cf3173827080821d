/// List files: any text gives rows or a data error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <seam/error.hpp>

#include "stages/dataset/inshop_list.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    (void)seam::stages::parse_inshop_list(
        std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.txt");
  } catch (const seam::Error&) {  // expected; anything else is a bug
  }
  return 0;
}
