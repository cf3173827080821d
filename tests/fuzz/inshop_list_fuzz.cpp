/// List files: any text gives rows or a data error.
#include <cstddef>
#include <cstdint>
#include <string>

#include <seam/error.hpp>

#include "stages/dataset/inshop_list.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    (void)seam::stages::parse_inshop_list(
        {"fuzz.txt", std::string(reinterpret_cast<const char*>(data), size)});
  } catch (const seam::Error&) {  // expected; anything else is a bug
  }
  return 0;
}
