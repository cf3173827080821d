/// List files: any text gives rows or an error of the data.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <seam/error.hpp>

#include "stages/dataset/inshop_list.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    (void)seam::stages::parse_inshop_list(
        std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.txt");
  } catch (const seam::Error&) {  // what is meant to come; anything else is a defect
  }
  return 0;
}
